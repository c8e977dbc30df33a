"""Admission that lets the controllers of a lane write Flux objects of their lane, and no others.

RBAC cannot limit a right to objects with a label: whoever takes over a controller of a lane could change the platform's
Kustomization, which is applied as cluster-admin, or the objects of another lane. It is Kubernetes' own admission in
every stack with lanes, as the rights are.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import mapping, text
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANE_LABEL, LANED, account_of

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

NAME = "flux-tenancy-lanes"
"""The ValidatingAdmissionPolicy and its binding."""

_API = "admissionregistration.k8s.io/v1"
_USER = "request.userInfo.username"
_OPERATIONS = ("CREATE", "UPDATE", "DELETE")


def own_objects_only(config: FluxConfig) -> list[Manifest]:
    """The policy and its binding; nothing without lanes."""
    if not config.lanes:
        return []
    users = {
        f"system:serviceaccount:{FLUX_NAMESPACE}:{account_of(controller, lane)}": lane
        for lane in config.lanes
        for controller in LANED
        if controller in config.components
    }
    lanes = mapping(users)
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": list(_OPERATIONS), "resources": ["*/*"]}
        for group in LANED_RESOURCES
    ]
    refusal = {
        "expression": f"[object, oldObject].all(each, each == null || {_label('each')} == variables.lane)",
        "message": "controllers of a lane change only Flux's objects of their lane",
        "reason": "Forbidden",
    }
    specs: dict[str, Manifest] = {
        "ValidatingAdmissionPolicy": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [{"name": "by-a-lane", "expression": f"{_USER} in {lanes}"}],
            "variables": [{"name": "lane", "expression": f"{lanes}[{_USER}]"}],
            "validations": [refusal],
        },
        "ValidatingAdmissionPolicyBinding": {"policyName": NAME, "validationActions": ["Deny"]},
    }
    return [
        {"apiVersion": _API, "kind": kind, "metadata": {"name": NAME}, "spec": spec} for kind, spec in specs.items()
    ]


def _label(part: str) -> str:
    return f"{part}.metadata.?labels[?{text(LANE_LABEL)}].orValue('')"
