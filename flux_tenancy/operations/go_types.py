"""The fields of Flux's kinds, read from the Go types of a controller's API.

The API is a Go module of its own, which is published also where the controller's module is not. It has no
CustomResourceDefinitions: these are generated from the types.
Source: https://book.kubebuilder.io/reference/markers/crd
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:\w+ )?(\S+) `json:"([^",]*)(,[^"]*)?"`', re.MULTILINE)
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")


def read_definitions(api: Path, kinds: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The definitions of some kinds with the properties of their `spec`, each in the version that clients prefer.

    A struct of another package that is inlined is one property with its name in parentheses.

    Args:
        api: folder of the API's module, with a folder for each version.
        kinds: the kinds to look for.
    """
    versions = sorted((each for each in api.iterdir() if _VERSION.fullmatch(each.name)), key=_priority)
    found: dict[str, dict[str, Any]] = {}
    for structs in map(_structs, versions):
        found |= {kind: _schema(structs, f"{kind}Spec", ()) for kind in kinds if f"{kind}Spec" in structs}
    return [
        {
            "kind": "CustomResourceDefinition",
            "spec": {
                "names": {"kind": kind},
                "versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": schema}}}}],
            },
        }
        for kind, schema in found.items()
    ]


def _priority(version: Path) -> tuple[bool, str]:
    """Stable versions come last.

    Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    found = _VERSION.fullmatch(version.name)
    return found is not None and found[1] is None, version.name


def _structs(folder: Path) -> dict[str, str]:
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("*_types.go")))
    return {found[1]: found[2] for text in texts for found in _STRUCT.finditer(text)}


def _schema(structs: Mapping[str, str], name: str, inside: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a struct; without properties for one of another package, and for one that contains itself."""
    properties: dict[str, Any] = {}
    for type_, field, options in _FIELD.findall(structs[name]) if name in structs and name not in inside else ():
        element = type_.removeprefix("[]").removeprefix("*")
        below = _schema(structs, element, (*inside, name))
        if field:
            properties[field] = {"items": below} if type_.startswith("[]") else below
        elif "inline" in options:
            properties |= below.get("properties", {}) if element in structs else {f"({element})": {}}
    return {"properties": properties} if properties else {}
