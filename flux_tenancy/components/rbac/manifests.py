"""Roles and bindings as manifests, and tables of resources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest, ResourceTable


def table(text: str) -> ResourceTable:
    """A table of resources: `core: pods services apps: deployments`."""
    rows: list[tuple[str, list[str]]] = []
    for word in text.split():
        if word.endswith(":"):
            rows.append(("" if word == "core:" else word[:-1], []))
        else:
            rows[-1][1].append(word)
    return tuple((group, tuple(names)) for group, names in rows)


def rbac_rule(group: str, resources: Iterable[str], verbs: Iterable[str], names: Collection[str] = ()) -> Manifest:
    """A rule of a role; names limit it to some objects."""
    found = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return found | ({"resourceNames": list(names)} if names else {})


def rules_for(rows: ResourceTable, verbs: Sequence[str]) -> list[Manifest]:
    """The rules of a role that allow these verbs."""
    return [rbac_rule(group, resources, verbs) for group, resources in rows]


def rbac_role(kind: str, metadata: Manifest, rules: Iterable[Manifest]) -> Manifest:
    """A Role or ClusterRole."""
    return {"apiVersion": RBAC_API, "kind": kind, "metadata": metadata, "rules": list(rules)}


def rbac_binding(
    kind: str, metadata: Manifest, name: str, subjects: Iterable[Manifest], role_kind: str = "ClusterRole"
) -> Manifest:
    """A RoleBinding or ClusterRoleBinding to a role of this name."""
    return {
        "apiVersion": RBAC_API,
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": name},
        "subjects": list(subjects),
    }
