"""CEL evaluated in this process, with the functions that the API server has and the policies use.

RE2 and the functions of strings are those of the reference implementation in C++. Where that differs from the API
server's, `offline-admission` and tests/engine tell: they evaluate the same policies with the API server's own library.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

_EXTENSIONS = "extensions:\n- name: optional\n- name: strings\n  version: latest\n"
NAMESPACE = "apps"
_INPUTS = ("namespaceObject", "object", "request", "value", "variables")


@cache
def _environment() -> cel.Env:
    config = cel.NewEnvConfigFromYaml(_EXTENSIONS)
    return cel.NewEnv(config=config, variables=dict.fromkeys(_INPUTS, cel.Type.DYN))


@cache
def _compiled(expression: str) -> cel.Expression:
    return _environment().compile(expression)


def evaluated(expression: str, value: Any = None, **inputs: Any) -> Any:
    """The value of an expression about `value` and what a policy sees."""
    return _compiled(expression).eval(data={"value": value} | inputs).plain_value()


class PolicyInCel:
    """A policy as admission evaluates it: its variables one after the other, then its validations."""

    def __init__(self, name: PolicyName, config: PoliciesConfig) -> None:
        [self.policy] = [each for each in policies(config) if each.name is name]

    def variables(self, object: Mapping[str, Any], annotations: Mapping[str, str], **request: Any) -> dict[str, Any]:
        """The variables for a request about an object in a tenant's namespace with these annotations.

        Args:
            object: the object.
            annotations: those of the namespace.
            request: fields of the request that the policy reads.
        """
        found: dict[str, Any] = {}
        for name, expression in self.policy.variables.items():
            found[name] = evaluated(expression, **_seen(object, annotations, found, request))
        return found

    def allows(self, validation: int, object: Mapping[str, Any], variables: Mapping[str, Any]) -> bool:
        """Whether one of the validations allows the object."""
        expression = self.policy.validations[validation].expression
        allowed: bool = evaluated(expression, **_seen(object, {}, variables, {}))
        return allowed


def _seen(
    object: Mapping[str, Any], annotations: Mapping[str, str], variables: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": NAMESPACE, "labels": {TENANT_LABEL: "dev-team"}}
    return {
        "object": object,
        "namespaceObject": {"metadata": metadata | ({"annotations": dict(annotations)} if annotations else {})},
        "request": {"namespace": NAMESPACE, "operation": "CREATE"} | dict(request),
        "variables": variables,
    }
