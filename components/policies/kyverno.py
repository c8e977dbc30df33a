"""Policies as Kyverno's ValidatingPolicies.

Source: https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from components.configuration.policies import PolicyMode
from components.manifests import Manifest
from components.policies.policy import Policy
from components.policies.rendering import ACTIONS, object_name, spec

KYVERNO_API = "policies.kyverno.io/v1"
# Kyverno has no `authorizer`; it asks the API server the same question.
_PLATFORM = (
    "{'CREATE': ['create'], 'UPDATE': ['update', 'patch'], 'DELETE': ['delete']}[request.operation].exists(verb, "
    "resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', {"
    "'apiVersion': dyn('authorization.k8s.io/v1'), 'kind': dyn('SubjectAccessReview'), 'spec': dyn({"
    "'user': dyn(request.userInfo.username), 'groups': dyn(request.userInfo.groups), 'resourceAttributes': dyn({"
    "'verb': verb, 'group': request.resource.group, 'resource': request.resource.resource, "
    "'subresource': request.subResource})})}).status.allowed)"
)


def kyverno(policy: Policy, mode: PolicyMode) -> list[Manifest]:
    """The policy; it is in force once it exists."""
    return [
        {
            "apiVersion": KYVERNO_API,
            "kind": "ValidatingPolicy",
            "metadata": {"name": object_name(policy.name)},
            "spec": spec(policy, platform=_PLATFORM)
            | {"validationActions": list(ACTIONS[mode]), "autogen": {"podControllers": {"controllers": []}}},
        }
    ]
