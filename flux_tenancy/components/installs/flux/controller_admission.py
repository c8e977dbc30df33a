"""Admission that limits what Flux's controllers write where RBAC cannot: to some fields, or to objects with a label.

It is Kubernetes' own admission in every stack, as the rights are.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flux_tenancy.components.allowlists.cel import mapping, text, unchanged
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES, NOTIFYING
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANE_LABEL, LANED, Controller, account_of

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_API = "admissionregistration.k8s.io/v1"
_USER = "request.userInfo.username"


def annotations_only() -> list[Manifest]:
    """The policy by which notification-controller annotates what a Receiver names, and changes nothing else of it.

    With the right to annotate the platform's GitRepository, whoever takes over the controller could otherwise have
    another repository applied as cluster-admin.

    Source: `requestReconciliation` in internal/server/receiver_handlers.go of notification-controller v1.9.3
    """
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": list(kinds)}
        for group, kinds in NOTIFYING.items()
    ]
    return _policy(
        "flux-tenancy-receivers",
        {
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [
                {
                    "name": "by-notification-controller",
                    "expression": f"{_USER} == '{_user(Controller.NOTIFICATION)}'",
                }
            ],
        },
        unchanged("?metadata"),
        "notification-controller changes annotations of Flux's objects, and nothing else",
    )


def own_objects_only(config: FluxConfig) -> list[Manifest]:
    """The policy by which the controllers of a lane write Flux objects of their lane only; nothing without lanes.

    Whoever takes over a controller of a lane could otherwise change the platform's Kustomization, which is applied as
    cluster-admin, or the objects of another lane.
    """
    if not config.lanes:
        return []
    users = {
        _user(controller, lane): lane
        for lane in config.lanes
        for controller in LANED
        if controller in config.components
    }
    lanes = mapping(users)
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": ["*/*"],
        }
        for group in LANED_RESOURCES
    ]
    return _policy(
        "flux-tenancy-lanes",
        {
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [{"name": "by-a-lane", "expression": f"{_USER} in {lanes}"}],
            "variables": [{"name": "lane", "expression": f"{lanes}[{_USER}]"}],
        },
        f"[object, oldObject].all(each, each == null || {_label('each')} == variables.lane)",
        "controllers of a lane change only Flux's objects of their lane",
    )


def _policy(name: str, spec: dict[str, Any], expression: str, message: str) -> list[Manifest]:
    """A policy that denies what does not fulfil an expression, and its binding.

    Args:
        name: of both.
        spec: which requests the policy evaluates, and its variables.
        expression: CEL for what is admitted.
        message: what a refusal says.
    """
    refusal = {"expression": expression, "message": message, "reason": "Forbidden"}
    specs: dict[str, Manifest] = {
        "ValidatingAdmissionPolicy": {"failurePolicy": "Fail", **spec, "validations": [refusal]},
        "ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [
        {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": each} for kind, each in specs.items()
    ]


def _user(controller: Controller, lane: str = "") -> str:
    return f"system:serviceaccount:{FLUX_NAMESPACE}:{account_of(controller, lane)}"


def _label(part: str) -> str:
    return f"{part}.metadata.?labels[?{text(LANE_LABEL)}].orValue('')"
