"""Compares an offline render with what an update has really applied."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from flux_tenancy.components.vocabulary.manifests import parse_quantity
from flux_tenancy.review.render.stack import render_stack
from tests.support.project import Project

# Providers are in the state with what the program has read: of the cluster, a render has what its files say.
_NOT_RENDERED = ("pulumi:", "flux-tenancy:")
# What the provider adds to the inputs.
_AUTONAMED = "pulumi.com/autonamed"
_DEFAULTS = "__defaults"
# A secret of an exported state has this key and one that marks it.
_PLAIN_TEXT = "plaintext"
_STAND_IN = re.compile(r"<(?:encrypted|public half of|generated) [^>]*>")


def differences(project: Project, stack: str) -> list[str]:
    """Where the render of a stack differs from the inputs in its state; empty if they are equal, object by object.

    A stand-in of the render, for a secret or for what an update generates, equals any value.
    """
    rendered = {
        (each.type, _known(each.type, each.resource)): each.manifest
        for each in render_stack(project.folder, stack).objects
        if not each.type.startswith(_NOT_RENDERED)
    }
    applied = {
        (each["type"], _known(each["type"], each["urn"].rpartition("::")[2])): _shown(each["inputs"])
        for each in project.exported(stack)
        if not each["type"].startswith(_NOT_RENDERED)
    }
    found = [f"{key} is only rendered" for key in rendered.keys() - applied.keys()]
    found += [f"{key} is only applied" for key in applied.keys() - rendered.keys()]
    for key in sorted(rendered.keys() & applied.keys()):
        manifest, inputs = rendered[key], applied[key]
        if "properties" in manifest:
            manifest = manifest["properties"]
        found += [f"{key}: {path}" for path in _different(manifest, _as_rendered(inputs, manifest), "")]
    return found


def _known(kind: str, name: str) -> str:
    """A resource's name without the digest of a public key, which only a private key tells."""
    return name.rpartition("-")[0] if kind.startswith("github:") and "DeployKey" in kind else name


def _shown(value: Any) -> Any:
    """A value of the exported state with its secrets in plain text."""
    if isinstance(value, dict):
        if _PLAIN_TEXT in value and len(value) == 2:
            return json.loads(value[_PLAIN_TEXT])
        return {key: _shown(part) for key, part in value.items()}
    return [_shown(part) for part in value] if isinstance(value, list) else value


def _as_rendered(inputs: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """The inputs without what the provider has added, Secrets as text."""
    if "stringData" in manifest:
        data = inputs["data"]
        inputs = {key: value for key, value in inputs.items() if key != "data"}
        # An entry that is named after an OpenPGP key has another name as long as that key is sealed.
        sealed = {PurePath(key).suffix: key for key in manifest["stringData"] if key.startswith("sealed-")}
        names = {key: sealed.get(PurePath(key).suffix, key) for key in data}
        inputs["stringData"] = {names[key]: b64decode(value).decode() for key, value in data.items()}
    if "apiVersion" not in inputs:
        # The provider fills in the defaults of other resources.
        return {key: inputs[key] for key in manifest if key in inputs}
    annotations = inputs["metadata"].get("annotations", {})
    if annotations.get(_AUTONAMED):
        kept = {key: value for key, value in annotations.items() if key != _AUTONAMED}
        metadata = inputs["metadata"] | {"annotations": kept, "name": manifest["metadata"]["name"]}
        inputs = inputs | {"metadata": metadata}
    return inputs


def _different(rendered: Any, applied: Any, path: str) -> Iterator[str]:
    if isinstance(rendered, str) and isinstance(applied, str | dict) and _STAND_IN.search(rendered):
        # A stand-in may be a part of a text, or stand for a whole mapping.
        pattern = ".*".join(map(re.escape, _STAND_IN.split(rendered)))
        if isinstance(applied, dict) or re.fullmatch(pattern, applied, re.DOTALL):
            return
    if isinstance(rendered, dict) and isinstance(applied, dict):
        for key in sorted((rendered.keys() | applied.keys()) - {_DEFAULTS}):
            if (rendered.get(key) or None) is (applied.get(key) or None):
                continue  # The provider leaves out what is empty.
            if key not in rendered or key not in applied:
                yield f"{path}.{key} is only {'rendered' if key in rendered else 'applied'}"
            elif key == "secretRef" and isinstance(name := applied[key].get("name"), str):
                if not name.startswith(rendered[key]["name"]):
                    yield f"{path}.{key}"
            else:
                yield from _different(rendered[key], applied[key], f"{path}.{key}")
    elif isinstance(rendered, list) and isinstance(applied, list) and len(rendered) == len(applied):
        for index, (first, second) in enumerate(zip(rendered, applied, strict=True)):
            yield from _different(first, second, f"{path}[{index}]")
    elif rendered != applied and not _same_quantity(rendered, applied):
        yield f"{path}: rendered {rendered!r}"


def _same_quantity(rendered: Any, applied: Any) -> bool:
    """Whether two values are one quantity: the provider writes `1000m` as `1`."""
    try:
        return bool(parse_quantity(rendered) == parse_quantity(applied))
    except ValueError:
        return False
