"""Egress of the controllers' pods, for clusters that enforce NetworkPolicies.

The release's own policies let only pods of flux-system connect to source-controller's artifacts, and let every pod of
flux-system connect to anything.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.config.networks import egress_rules
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxEgress
    from flux_tenancy.components.vocabulary.manifests import Manifest

_APP = "app"
_DNS = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]


def restrict_egress(manifests: list[Manifest], egress: FluxEgress) -> None:
    """Let the controllers that have a list connect to DNS, to pods of flux-system, and to what is listed.

    NetworkPolicies are additive, so the release's policies that allow all egress are changed to select the other pods.
    """
    if not (allowed := _allowed(egress)):
        return
    names = [controller.value for controller in allowed]
    others = {"matchExpressions": [{"key": _APP, "operator": "NotIn", "values": names}]}
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy" and _allows_all_egress(manifest["spec"]):
            manifest["spec"]["podSelector"] = others
    manifests += [_policy(controller, rules) for controller, rules in allowed.items()]


def _allowed(egress: FluxEgress) -> Mapping[Controller, Sequence[Manifest]]:
    """The egress rules of each controller that has a list, without those that all of them have."""
    rules: dict[Controller, list[Manifest]] = {}
    if egress.networks:
        rules[Controller.KUSTOMIZE] = [{"to": [{"ipBlock": {"cidr": network}} for network in egress.networks]}]
    for controller, ranges in egress.allowed.items():
        rules.setdefault(controller, []).extend(egress_rules(ranges))
    return {controller: [*egress_rules(egress.api_server), *rules[controller]] for controller in sorted(rules)}


def _allows_all_egress(spec: Manifest) -> bool:
    return not spec.get("podSelector") and {} in (spec.get("egress") or ())


def _policy(controller: Controller, rules: Sequence[Manifest]) -> Manifest:
    flux: list[Manifest] = [{"podSelector": {}}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"{controller}-egress", "namespace": FLUX_NAMESPACE},
        "spec": {
            "podSelector": {"matchLabels": {_APP: controller.value}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": flux}],
            "egress": [{"to": flux}, {"ports": _DNS}, *rules],
        },
    }
