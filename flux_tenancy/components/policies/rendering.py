"""What native and Kyverno policies share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import SPEC, Policy, Requester, Validation
from flux_tenancy.components.policies.request import NOT_BY_A_CONTROLLER, NOT_BY_A_NODE, labelled
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

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
