"""Manifests of the shape that many fleets have: applications over infrastructure, staging over a base.

The shape is that of https://github.com/fluxcd/flux2-kustomize-helm-example; the manifests, in `example_fleet.yaml`, are
this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.policy_cases import CLOSED, EXAMPLE, TENANT


def manifests(namespace: str) -> dict[str, dict[str, Any]]:
    """Each manifest by its kind and name, in a tenant's namespace."""
    text = Path(__file__).with_suffix(".yaml").read_text()
    found = {f"{each['kind']} {each['metadata']['name']}": each for each in yaml.safe_load_all(text)}
    for each in found.values():
        each["metadata"]["namespace"] = namespace
    return found


_SOURCE = "ask the platform team for: {} in the tenant's policies.sources"
_REFUSED = {
    "Kustomization apps": f"set it to {TENANT}",
    "Service ingress-nginx-controller": "use one of these: ClusterIP",
}
WAYS_OUT: Mapping[str, Mapping[str, str]] = {
    EXAMPLE: _REFUSED,
    CLOSED: _REFUSED
    | {
        "HelmRepository podinfo": _SOURCE.format("oci://registry.example.com/podinfo/*"),
        "HelmRepository cert-manager": _SOURCE.format("https://charts.jetstack.example"),
        "HelmRepository ingress-nginx": _SOURCE.format("https://ingress.example.org/charts"),
        "OCIRepository podinfo": _SOURCE.format("oci://registry.example.com/podinfo/chart"),
    },
}
"""What is refused in a namespace with a list of sources, and in one without, with the words that lead on."""
