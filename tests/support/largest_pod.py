"""The largest Pod that a tenant may create by default: as much of everything as the policies allow in one object."""

from __future__ import annotations

from flux_tenancy.components.policies.config import MaximumSizes
from flux_tenancy.components.vocabulary.manifests import Manifest
from tests.support.policy_cases import APPS, made

SIZES = MaximumSizes()
_IMAGE = "registry.example.com/team/main:1"
_CONTAINER = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_TEXT = 34_000
"""Bytes of an argument that fill the rest: the API server's own fields count as much as what is written."""


def largest_pod(namespace: str = APPS, containers: int = SIZES.containers) -> Manifest:
    """A Pod that starts nowhere.

    Args:
        namespace: where it is.
        containers: how many it has.
    """
    ports, variables = SIZES.ports // containers, SIZES.variables // containers
    listed = [
        {
            "name": f"app-{number}",
            "image": _IMAGE,
            "ports": [{"containerPort": 8000 + number * ports + port, "name": f"p{port}"} for port in range(ports)],
            "env": [{"name": f"V{variable}", "value": "a"} for variable in range(variables)],
            **_CONTAINER,
        }
        for number in range(containers)
    ]
    listed[0]["args"] = ["a" * _TEXT]
    more = SIZES.projected_sources - SIZES.volumes
    source = {"configMap": {"name": "app"}}
    volumes = [
        {"name": f"v{number}", "projected": {"sources": [source] * (2 if number < more else 1)}}
        for number in range(SIZES.volumes)
    ]
    return made(
        "Pod",
        {
            "automountServiceAccountToken": False,
            "containers": listed,
            "schedulingGates": [{"name": "example.com/never"}],
            "securityContext": _POD,
            "volumes": volumes,
        },
        name="largest",
        namespace=namespace,
    )
