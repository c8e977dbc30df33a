"""Egress of kustomize-controller's pod, for clusters that enforce NetworkPolicies.

The release's own policies let only pods of flux-system connect to source-controller's artifacts, and let every pod of
flux-system connect to anything.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Sequence

from components.cluster.manifests import Manifest
from components.flux.controllers import Controller
from components.sync.names import FLUX_NAMESPACE

_APP = "app"
_NAME = f"{Controller.KUSTOMIZE}-egress"
_DNS = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]


def restrict_egress(manifests: list[Manifest], networks: Sequence[str]) -> None:
    """Let kustomize-controller connect to DNS, to pods of flux-system, and to these networks (CIDR).

    NetworkPolicies are additive, so the release's policies that allow all egress are changed to select the other pods.
    """
    others = {"matchExpressions": [{"key": _APP, "operator": "NotIn", "values": [Controller.KUSTOMIZE.value]}]}
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy" and _allows_all_egress(manifest["spec"]):
            manifest["spec"]["podSelector"] = others
    manifests.append(_policy(networks))


def _allows_all_egress(spec: Manifest) -> bool:
    return not spec.get("podSelector") and {} in (spec.get("egress") or ())


def _policy(networks: Sequence[str]) -> Manifest:
    flux: list[Manifest] = [{"podSelector": {}}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": _NAME, "namespace": FLUX_NAMESPACE},
        "spec": {
            "podSelector": {"matchLabels": {_APP: Controller.KUSTOMIZE.value}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": flux}],
            "egress": [
                {"to": flux},
                {"ports": _DNS},
                {"to": [{"ipBlock": {"cidr": network}} for network in networks]},
            ],
        },
    }
