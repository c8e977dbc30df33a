"""Kinds of damage to a running stack (`damage.yaml`): what somebody does by hand or another controller writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

_BY_HAND = "kubectl-edit"
_SHORT = {"container/": "/spec/template/spec/containers/0/", "pod/": "/spec/template/spec/"} | {
    "container.": "spec.template.spec.containers[manager].",
    "pod.": "spec.template.spec.",
}


@dataclass(frozen=True)
class Damage:
    """One field that somebody writes.

    Attributes:
        kind: kind of the object.
        namespace: its namespace; empty if it is cluster-scoped.
        name: its name; empty for the first of its kind in the namespace.
        operation: what a JSON Patch does: `add`, `replace`, `remove`, or `move` from `value`.
        path: the JSON Pointer of the field.
        value: the new value.
        reported: the field as drift names it.
        manager: the field manager that writes.
    """

    kind: str
    namespace: str
    name: str
    operation: str
    path: str
    value: Any
    reported: str
    manager: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Damage:
        kind, _, place = row["of"].partition(" ")
        namespace, _, name = place.rpartition("/")
        [operation] = row.keys() & {"add", "replace", "remove", "move"}
        path, reported = _expanded(row[operation]), _expanded(row["reported"])
        return cls(kind, namespace, name, operation, path, row.get("value"), reported, row.get("by", _BY_HAND))

    def patch(self, found: Object) -> list[Object]:
        """The JSON Patch, with what it needs around the field."""
        around = []
        for name in ("annotations", "labels", "finalizers", "ownerReferences"):
            if self.path.startswith(f"/metadata/{name}/") and name not in found["metadata"]:
                empty: Any = {} if name in ("annotations", "labels") else []
                around.append({"op": "add", "path": f"/metadata/{name}", "value": empty})
        done = {"op": self.operation, "path": self.path}
        what: Object = {"remove": {}, "move": {"from": _expanded(str(self.value))}}.get(
            self.operation, {"value": self.value}
        )
        return [*around, done | what]


def _expanded(path: str) -> str:
    """A path or field with the short form for a Deployment's pod or container written out."""
    return next((path.replace(short, long, 1) for short, long in _SHORT.items() if path.startswith(short)), path)


DAMAGES = [*map(Damage.of, yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()))]
"""Damages that do not exclude each other."""
DELETED = (
    ("NetworkPolicy", "flux-system", "allow-egress"),
    ("RoleBinding", "ops-team", "ops-team-reconciler"),
)
"""Objects that somebody deletes."""
RECREATED = ("ServiceAccount", "ops-team", "ops-team")
"""An object that another manager deletes and creates again with the same content."""
STRIPPED = ("ClusterRole", "", "flux-tenancy-previewer")
"""An object whose record of field managers somebody removes."""
