"""Policies as Kubernetes' ValidatingAdmissionPolicies, which the API server itself evaluates.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flux_tenancy.components.policies.rendering import ACTIONS, object_name, spec
from flux_tenancy.components.policies.request import SUBRESOURCE

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PolicyMode
    from flux_tenancy.components.policies.policy import Policy
    from flux_tenancy.components.vocabulary.manifests import Manifest

_API = "admissionregistration.k8s.io/v1"
_MAY_CHANGE = (
    "authorizer.group(request.resource.group).resource(request.resource.resource)"
    f".subresource({SUBRESOURCE}).check(verb).allowed()"
)
_UPDATER = (
    "authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace)"
    ".name(request.name).check('update').allowed()"
)


def native(policy: Policy, mode: PolicyMode) -> list[Manifest]:
    """The policy and its binding."""
    specification = spec(policy, may_change=_MAY_CHANGE, updater=_UPDATER)
    return manifests(object_name(policy.name), specification, ACTIONS[mode])


def manifests(name: str, specification: Manifest, actions: Iterable[str], **binding: Manifest) -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding.

    Args:
        name: of both.
        specification: the policy's.
        actions: what happens to a request that the policy refuses.
        binding: further fields of the binding's, such as `paramRef`.
    """
    return [
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": specification,
        },
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, **binding, "validationActions": list(actions)},
        },
    ]
