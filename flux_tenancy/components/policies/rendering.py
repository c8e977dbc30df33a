"""Policies as objects of both engines: Kubernetes' ValidatingAdmissionPolicies, and Kyverno's ValidatingPolicies.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ and
https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.flux.release import lease_of
from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.policy import (
    NOT_BY_A_CONTROLLER,
    NOT_BY_A_NODE,
    SPEC,
    SUBRESOURCE,
    Policy,
    PolicyName,
    Requester,
    Validation,
    labelled,
)
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

OBJECT_PREFIX = "flux-tenancy-"
ACTIONS: Mapping[PolicyMode, tuple[str, ...]] = {PolicyMode.ENFORCE: ("Deny",), PolicyMode.AUDIT: ("Audit", "Warn")}

PLATFORM_VARIABLE, PLATFORM_OBJECT = "platform", "platform_object"
"""Variables: whether the user belongs to the platform, and whether the object is the platform's, too."""
_OR_PLATFORM_OBJECT = f" || variables.{PLATFORM_OBJECT}"

TENANT_NAMESPACES: Manifest = {"matchExpressions": [{"key": TENANT_LABEL, "operator": "Exists"}]}


def object_name(policy: PolicyName) -> str:
    """The name of a policy's objects in the cluster."""
    return f"{OBJECT_PREFIX}{policy.value}"


POLICIES: Mapping[str, PolicyName] = {object_name(policy): policy for policy in PolicyName}
"""The policies by the names of their objects."""


def changes(reads: str) -> str:
    """CEL for whether a request creates an object or changes a part of it.

    This includes objects that are being deleted: Flux still acts on their spec.

    Args:
        reads: CEL for the part; `{object}` stands for the object.
    """
    return f"request.operation == 'CREATE' || {reads.format(object='object')} != {reads.format(object='oldObject')}"


def spec(policy: Policy, *, may_change: str, updater: str, by_scan: str = "") -> Manifest:
    """The `spec` that Kubernetes' and Kyverno's policies share.

    Args:
        may_change: CEL for whether the user may do `verb` with such objects in the whole cluster.
        updater: CEL for whether the user has the right to update the object.
        by_scan: CEL for whether the engine scans existing objects, if it does.
    """
    conditions, variables = dict(policy.conditions), dict(policy.variables)
    guard, platform = "", f"{policy.platform_verbs}.exists(verb, {may_change})"
    if policy.subject is Requester.CONTENT:
        # Of an object without a spec there is nothing to check, and CEL would fail on it.
        of_spec = {"has-spec": "has(object.spec)"} if policy.reads == SPEC else {}
        conditions = {"changes-content": changes(policy.reads)} | of_spec | conditions
        if any(each.exempts_platform_objects for each in policy.validations):
            platform = f"{by_scan} || {platform}" if by_scan else platform
            variables |= {
                PLATFORM_VARIABLE: platform,
                PLATFORM_OBJECT: f"{labelled('object')} && variables.{PLATFORM_VARIABLE}",
            }
    else:
        conditions = {"not-by-a-controller": NOT_BY_A_CONTROLLER, "not-by-a-node": NOT_BY_A_NODE} | conditions
        # Evaluated last: it is expensive, and most requests pass without it.
        variables |= {PLATFORM_VARIABLE: platform}
        guard = f" || variables.{PLATFORM_VARIABLE}"
        if policy.subject is Requester.PATCHERS:
            variables |= {"updater": updater}
            guard = f"{guard} || variables.updater"
    scope = "Namespaced" if policy.tenant_namespaces_only else "Cluster"
    constraints: Manifest = {"resourceRules": [each.rule(scope) for each in policy.resources]}
    if policy.tenant_namespaces_only:
        constraints["namespaceSelector"] = TENANT_NAMESPACES
    return {
        "failurePolicy": "Fail",
        "matchConstraints": constraints,
        "matchConditions": [{"name": name, "expression": expression} for name, expression in conditions.items()],
        "variables": [{"name": name, "expression": expression} for name, expression in variables.items()],
        "validations": [
            {
                "expression": f"({each.expression}){guard}" if guard else _expression(each),
                "message": f"refused by the policy {policy.name}: {policy.refuses}",
                "messageExpression": each.message,
                # Without a reason the answer would be 422 Invalid.
                "reason": "Forbidden",
            }
            for each in policy.validations
        ],
    }


def _expression(validation: Validation) -> str:
    if not validation.exempts_platform_objects:
        return validation.expression
    return f"({validation.expression}){_OR_PLATFORM_OBJECT}"


_NATIVE_API = "admissionregistration.k8s.io/v1"
_NATIVE_MAY_CHANGE = (
    "authorizer.group(request.resource.group).resource(request.resource.resource)"
    f".subresource({SUBRESOURCE}).check(verb).allowed()"
)
_NATIVE_UPDATER = (
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
    specification = spec(policy, may_change=_NATIVE_MAY_CHANGE, updater=_NATIVE_UPDATER)
    if not policy.reads_clock:
        return native_manifests(object_name(policy.name), specification, ACTIONS[mode])
    # The leader renews it every few seconds. Without kustomize-controller, Flux changes nothing that could be held.
    clock: Manifest = {
        "name": lease_of(Controller.KUSTOMIZE, "") if lanes else f"{Controller.KUSTOMIZE}-leader-election",
        "namespace": FLUX_NAMESPACE,
        "parameterNotFoundAction": "Allow",
    }
    specification["paramKind"] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return native_manifests(object_name(policy.name), specification, ACTIONS[mode], paramRef=clock)


def native_manifests(name: str, specification: Manifest, actions: Iterable[str], **binding: Manifest) -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding.

    Args:
        binding: further fields of the binding's, such as `paramRef`.
    """
    return [
        {
            "apiVersion": _NATIVE_API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": specification,
        },
        {
            "apiVersion": _NATIVE_API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, **binding, "validationActions": list(actions)},
        },
    ]


KYVERNO_API = "policies.kyverno.io/v1"


# Kyverno has no `authorizer`; it asks the API server the same question.
def _allowed(attributes: str) -> str:
    """CEL for whether the user may do something; `attributes` are further entries of a map in CEL."""
    return (
        "resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', {"
        "'apiVersion': dyn('authorization.k8s.io/v1'), 'kind': dyn('SubjectAccessReview'), 'spec': dyn({"
        "'user': dyn(request.userInfo.username), "
        "'groups': dyn(has(request.userInfo.groups) ? request.userInfo.groups : []), 'resourceAttributes': dyn({"
        f"{attributes}, 'group': request.resource.group, 'resource': request.resource.resource, "
        f"'subresource': {SUBRESOURCE}}})}})}}).status.allowed"
    )


_KYVERNO_MAY_CHANGE = _allowed("'verb': verb")
# A background scan has no user. It refuses nothing, and whoever could write the object has been asked about then.
_BY_SCAN = "request.?userInfo.?username.orValue('') == ''"
_KYVERNO_UPDATER = _allowed("'verb': 'update', 'namespace': request.namespace, 'name': request.name")


def kyverno(policy: Policy, mode: PolicyMode) -> list[Manifest]:
    """The policy; Kyverno enforces it once it exists."""
    # A background scan has no request, so it can only judge content.
    background = policy.subject is Requester.CONTENT
    by_scan = _BY_SCAN if background else ""
    specification = spec(policy, may_change=_KYVERNO_MAY_CHANGE, updater=_KYVERNO_UPDATER, by_scan=by_scan)
    return kyverno_manifests(object_name(policy.name), specification, ACTIONS[mode], background=background)


def kyverno_manifests(
    name: str, specification: Manifest, actions: Iterable[str], *, background: bool
) -> list[Manifest]:
    """A ValidatingPolicy for exactly the kinds that it names, without Kyverno's autogenerated rules.

    Args:
        specification: the part of `spec` that all engines share.
        background: whether Kyverno also reports on existing objects.
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
