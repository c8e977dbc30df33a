"""Policies as Kyverno's ValidatingPolicies.

Source: https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from collections.abc import Iterable

from components.cluster.manifests import Manifest
from components.policies.config import PolicyMode
from components.policies.policy import Policy, Subject
from components.policies.rendering import ACTIONS, object_name, spec
from components.policies.request import PLATFORM_VERBS, SUBRESOURCE

KYVERNO_API = "policies.kyverno.io/v1"
# Kyverno has no `authorizer`; it asks the API server the same question.
_PLATFORM = (
    f"{PLATFORM_VERBS}.exists(verb, "
    "resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', {"
    "'apiVersion': dyn('authorization.k8s.io/v1'), 'kind': dyn('SubjectAccessReview'), 'spec': dyn({"
    "'user': dyn(request.userInfo.username), "
    "'groups': dyn(has(request.userInfo.groups) ? request.userInfo.groups : []), 'resourceAttributes': dyn({"
    "'verb': verb, 'group': request.resource.group, 'resource': request.resource.resource, "
    f"'subresource': {SUBRESOURCE}}})}})}}).status.allowed)"
)


def kyverno(policy: Policy, mode: PolicyMode) -> list[Manifest]:
    """The policy; it is in force once it exists."""
    # What is there already came by nobody's request, so only its content can be reported.
    background = policy.subject is Subject.CONTENT
    return manifests(object_name(policy.name), spec(policy, platform=_PLATFORM), ACTIONS[mode], background=background)


def manifests(name: str, specification: Manifest, actions: Iterable[str], *, background: bool) -> list[Manifest]:
    """A ValidatingPolicy for just the kinds that it names, without those that Kyverno would add for pods.

    Args:
        name: of the object.
        specification: what it shares with other engines.
        actions: what becomes of a request that it is against.
        background: whether Kyverno reports on objects that nobody is changing.
    """
    return [
        {
            "apiVersion": KYVERNO_API,
            "kind": "ValidatingPolicy",
            "metadata": {"name": name},
            "spec": specification
            | {
                "validationActions": list(actions),
                "autogen": {"podControllers": {"controllers": []}},
                "evaluation": {"background": {"enabled": background}},
            },
        }
    ]
