"""Egress of kustomize-controller's pod, for clusters whose network heeds NetworkPolicies.

The release's own policies admit nothing but pods of flux-system to source-controller's artifacts, and let every pod of
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

    Policies add up, so those of the release that let all pods of the namespace out are about the others from then on.
    """
    others = {"matchExpressions": [{"key": _APP, "operator": "NotIn", "values": [Controller.KUSTOMIZE.value]}]}
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy" and _lets_everything_out(manifest["spec"]):
            manifest["spec"]["podSelector"] = others
    manifests.append(_policy(networks))


def _lets_everything_out(spec: Manifest) -> bool:
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
