"""Policies as Kubernetes' ValidatingAdmissionPolicies, which the API server itself evaluates.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.flux.lanes import lease_of
from flux_tenancy.components.policies.rendering import ACTIONS, object_name, spec
from flux_tenancy.components.policies.request import SUBRESOURCE
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, Controller

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

NOW = "timestamp(params.spec.?renewTime.orValue('1970-01-01T00:00:00Z'))"
"""CEL for the current time, a few seconds late, in a policy that reads the clock.

CEL in Kubernetes has no other one. Source: https://kubernetes.io/docs/concepts/architecture/leases/
"""


def native(policy: Policy, mode: PolicyMode, *, lanes: bool = False) -> list[Manifest]:
    """The policy and its binding.

    Args:
        lanes: whether the stack has lanes, in which the leader of kustomize-controller has another Lease.
    """
    specification = spec(policy, may_change=_MAY_CHANGE, updater=_UPDATER)
    if not policy.reads_clock:
        return manifests(object_name(policy.name), specification, ACTIONS[mode])
    # The leader renews it every few seconds. Without kustomize-controller, Flux changes nothing that could be held.
    clock: Manifest = {
        "name": lease_of(Controller.KUSTOMIZE, "") if lanes else f"{Controller.KUSTOMIZE}-leader-election",
        "namespace": FLUX_NAMESPACE,
        "parameterNotFoundAction": "Allow",
    }
    specification["paramKind"] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return manifests(object_name(policy.name), specification, ACTIONS[mode], paramRef=clock)


def manifests(name: str, specification: Manifest, actions: Iterable[str], **binding: Manifest) -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding.

    Args:
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
