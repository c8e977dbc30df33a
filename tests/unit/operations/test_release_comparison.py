"""The comparison of two Flux releases."""

from __future__ import annotations

from typing import Any

from flux_tenancy.operations.release_comparison import changed_roles, unknown_fields


def definition(kind: str, *fields: str) -> dict[str, Any]:
    schema = {"properties": {"spec": {"properties": {name: {"type": "string"} for name in fields}}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    return {"kind": "CustomResourceDefinition", "spec": {"names": {"kind": kind}, "versions": versions}}


def role(name: str, *verbs: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": list(verbs)}]
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def test_a_new_field_that_no_policy_lists_is_found():
    old = [definition("ArtifactGenerator", "sources")]
    new = [definition("ArtifactGenerator", "sources", "artifacts", "unheardOf")]

    assert unknown_fields(old, new) == ("ArtifactGenerator.spec.unheardOf",)


def test_fields_of_kinds_that_tenants_may_not_write_and_old_fields_are_no_findings():
    old = [definition("Bucket", "unheardOf")]

    assert unknown_fields(old, [*old, definition("FluxInstance", "unheardOf")]) == ()


def test_roles_that_changed_came_or_went_are_found():
    old = [role("same", "get"), role("changed", "get", "create"), role("gone", "get")]
    new = [role("same", "get"), role("changed", "get"), role("came", "get")]

    assert changed_roles(old, new) == ("ClusterRole/came", "ClusterRole/changed", "ClusterRole/gone")
