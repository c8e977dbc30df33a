"""Egress of the controllers' pods, for clusters that enforce NetworkPolicies.

The release's own policies let only pods of flux-system connect to source-controller's artifacts, and let every pod of
flux-system connect to anything.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.config.networks import egress_rules
from flux_tenancy.components.installs.flux.lanes import APP_LABEL, instances_of
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANE_LABEL, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxEgress

_APP = APP_LABEL
_ALL_OF_FLUX: Manifest = {"podSelector": {}}
PLATFORM_PODS: Manifest = {"podSelector": {"matchExpressions": [{"key": LANE_LABEL, "operator": "DoesNotExist"}]}}
"""Flux's pods that belong to no lane."""
# Events of all lanes go to one, and ArtifactGenerators of all lanes are served by the other.
_SHARED_SERVERS = (Controller.NOTIFICATION, Controller.SOURCE_WATCHER)
_DNS = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]


def restrict_egress(manifests: list[Manifest], egress: FluxEgress, lanes: Collection[str] = ()) -> None:
    """Let the controllers that have a list connect to DNS, to pods of flux-system, and to what is listed.

    NetworkPolicies are additive, so the release's policies that allow all egress are changed to select the other pods.

    Args:
        manifests: the release.
        egress: what the controllers may connect to, in all lanes.
        lanes: the lanes.
    """
    if not (allowed := _allowed(egress)):
        return
    names = [name for controller in allowed for name in instances_of(controller, lanes)]
    others = {"matchExpressions": [{"key": _APP, "operator": "NotIn", "values": names}]}
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy" and _allows_all_egress(manifest["spec"]):
            manifest["spec"]["podSelector"] = others
    manifests += [_policy(controller, rules, lanes) for controller, rules in allowed.items()]


def separate_lanes(manifests: list[Manifest], lanes: Collection[str]) -> None:
    """Let pods of a lane be reached only by their own lane and the platform's pods; lanes reach what serves them all.

    Without it, every pod of flux-system may read the artifacts of all lanes.
    """
    if not lanes:
        return
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy":
            for rule in manifest["spec"].get("ingress") or ():
                rule["from"] = [PLATFORM_PODS if each == _ALL_OF_FLUX else each for each in rule.get("from", ())]
    shared = [each.value for each in _SHARED_SERVERS]
    in_lanes = {"podSelector": {"matchExpressions": [{"key": LANE_LABEL, "operator": "Exists"}]}}
    manifests.append(_ingress("lanes", {"matchExpressions": [_in(_APP, shared)]}, in_lanes))
    for lane in lanes:
        pods = {"matchLabels": {LANE_LABEL: lane}}
        manifests.append(_ingress(f"lane-{lane}", pods, {"podSelector": pods}))


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


def _in(key: str, values: Sequence[str]) -> Manifest:
    return {"key": key, "operator": "In", "values": list(values)}


def _ingress(name: str, pods: Manifest, sender: Manifest) -> Manifest:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": FLUX_NAMESPACE},
        "spec": {"podSelector": pods, "policyTypes": ["Ingress"], "ingress": [{"from": [sender]}]},
    }


def _policy(controller: Controller, rules: Sequence[Manifest], lanes: Collection[str]) -> Manifest:
    flux: list[Manifest] = [dict(_ALL_OF_FLUX)]
    names = instances_of(controller, lanes)
    pods: Manifest = {"matchExpressions": [_in(_APP, names)]} if lanes else {"matchLabels": {_APP: controller.value}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"{controller}-egress", "namespace": FLUX_NAMESPACE},
        "spec": {
            "podSelector": pods,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": flux}],
            "egress": [{"to": flux}, {"ports": _DNS}, *rules],
        },
    }
