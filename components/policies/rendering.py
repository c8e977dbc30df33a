"""What both kinds of admission policy have in common."""

from __future__ import annotations

from collections.abc import Mapping

from components.configuration.policies import PolicyMode
from components.manifests import Manifest
from components.policies.names import PolicyName
from components.policies.policy import Policy, Subject
from components.tenant_objects import TENANT_LABEL

OBJECT_PREFIX = "flux-tenancy-"
ACTIONS: Mapping[PolicyMode, tuple[str, ...]] = {PolicyMode.ENFORCE: ("Deny",), PolicyMode.AUDIT: ("Audit", "Warn")}

# Flux and Kubernetes add and remove finalizers, labels and annotations of objects that may be older than a policy; what
# is being deleted must be let go.
_CHANGES_SPEC = (
    "request.operation == 'CREATE' || "
    "(!has(object.metadata.deletionTimestamp) && "
    "(has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)))"
)


def object_name(policy: PolicyName) -> str:
    """What the objects of a policy are called in the cluster."""
    return f"{OBJECT_PREFIX}{policy.value}"


def spec(policy: Policy, *, platform: str) -> Manifest:
    """The `spec` that Kubernetes' and Kyverno's policies share.

    Args:
        policy: the policy.
        platform: CEL for whether the user holds the right to the same change in the whole cluster.
    """
    conditions, variables = dict(policy.conditions), dict(policy.variables)
    guard = ""
    if policy.subject is Subject.CONTENT:
        conditions = {"changes-spec": _CHANGES_SPEC} | conditions
    else:
        variables = {"platform": platform} | variables
        guard = "variables.platform || "
    constraints: Manifest = {"resourceRules": [each.rule() for each in policy.resources]}
    if policy.tenant_namespaces_only:
        constraints["namespaceSelector"] = {"matchExpressions": [{"key": TENANT_LABEL, "operator": "Exists"}]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": constraints,
        "matchConditions": [{"name": name, "expression": text} for name, text in conditions.items()],
        "variables": [{"name": name, "expression": text} for name, text in variables.items()],
        "validations": [
            {
                "expression": f"{guard}({each.expression})" if guard else each.expression,
                "messageExpression": each.message,
            }
            for each in policy.validations
        ],
    }
