"""Policies as Kubernetes' own ValidatingAdmissionPolicies, which the API server evaluates itself.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from components.configuration.policies import PolicyMode
from components.manifests import Manifest
from components.policies.policy import Policy
from components.policies.rendering import ACTIONS, object_name, spec

# (major, minor) of the first Kubernetes in which they are generally available.
NATIVE_SINCE = (1, 30)
_API = "admissionregistration.k8s.io/v1"
# Whether the user may do the same in every namespace. A patch arrives as an UPDATE, and may be all a controller holds.
_PLATFORM = (
    "{'CREATE': ['create'], 'UPDATE': ['update', 'patch'], 'DELETE': ['delete']}[request.operation].exists(verb, "
    "authorizer.group(request.resource.group).resource(request.resource.resource)"
    ".subresource(request.subResource).check(verb).allowed())"
)


def native(policy: Policy, mode: PolicyMode) -> list[Manifest]:
    """The policy and what puts it into force."""
    name = object_name(policy.name)
    return [
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": spec(policy, platform=_PLATFORM),
        },
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": list(ACTIONS[mode])},
        },
    ]
