"""Admission that lets notification-controller annotate what a Receiver names, and change nothing else of it.

RBAC cannot limit a patch to some fields: with the right to annotate the platform's GitRepository, whoever takes over
the controller could have another repository applied as cluster-admin. It is Kubernetes' own admission in every stack,
as the rights are.

Source: `requestReconciliation` in internal/server/receiver_handlers.go of notification-controller v1.9.3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import unchanged
from flux_tenancy.components.installs.flux.controller_rights import NOTIFYING
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, Controller, account_of

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

NAME = "flux-tenancy-receivers"
"""The ValidatingAdmissionPolicy and its binding."""

_API = "admissionregistration.k8s.io/v1"
_USER = f"system:serviceaccount:{FLUX_NAMESPACE}:{account_of(Controller.NOTIFICATION)}"


def annotations_only() -> list[Manifest]:
    """The policy and its binding."""
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": list(kinds)}
        for group, kinds in NOTIFYING.items()
    ]
    refusal = {
        "expression": unchanged("?metadata"),
        "message": "notification-controller changes annotations of Flux's objects, and nothing else",
        "reason": "Forbidden",
    }
    specs: dict[str, Manifest] = {
        "ValidatingAdmissionPolicy": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [
                {"name": "by-notification-controller", "expression": f"request.userInfo.username == '{_USER}'"}
            ],
            "validations": [refusal],
        },
        "ValidatingAdmissionPolicyBinding": {"policyName": NAME, "validationActions": ["Deny"]},
    }
    return [
        {"apiVersion": _API, "kind": kind, "metadata": {"name": NAME}, "spec": spec} for kind, spec in specs.items()
    ]
