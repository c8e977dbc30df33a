"""Patches written as data, for Kustomizations and HelmReleases; Flux takes them as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.passed import written
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.yaml_files import Dumper

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


class PatchOperation(Section):
    """An operation of a JSON patch. Source: RFC 6902."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="The operation.")
    path: str = Field(description="JSON pointer to the field, e.g. `/spec/replicas`.")
    value: Any = Field(None, description="add, replace, test: the value.")
    from_: str | None = Field(None, alias="from", description="move, copy: JSON pointer to the original field.")


class Patch(Section):
    """A change of objects of the source, as data or as text."""

    target: dict[str, Any] | None = Field(
        None,
        description="The objects to change, as in Flux: `group`, `version`, `kind`, `namespace`, `name`, "
        "`labelSelector`, `annotationSelector`; required for `operations`.",
    )
    merge: dict[str, Any] | None = Field(
        None,
        description="Strategic merge patch: fields of the object with their new values; with a `target` it needs "
        "neither kind nor name.",
    )
    operations: tuple[PatchOperation, ...] = Field((), description="JSON patch (RFC 6902) instead of `merge`.")
    patch: str | None = Field(None, description="Either of them as the text that Flux takes.")

    @model_validator(mode="after")
    def _one_kind(self) -> Patch:
        if [self.merge is not None, bool(self.operations), self.patch is not None].count(True) != 1:
            raise ValueError(Message("FT-SYN-305", "needs exactly one of merge, operations and patch"))
        return self


# What Kustomize reads of a patch with a target, and then ignores.
# Source: transformStrategicMerge in api/internal/builtins/PatchTransformer.go of sigs.k8s.io/kustomize
_ANY = "any"


def patches(configured: Iterable[Patch]) -> list[Manifest]:
    """Patches as Flux takes them, with the patch itself as a YAML document."""
    return [_patch(each) for each in configured]


def _patch(patch: Patch) -> Manifest:
    target = {"target": written(patch.target)} if patch.target is not None else {}
    if patch.patch is not None:
        return {"patch": patch.patch} | target
    if patch.merge is None:
        # A value of an operation may be null.
        content: Any = [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in patch.operations]
    else:
        content = _named(patch.merge) if target else patch.merge
    return {"patch": yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True)} | target


def _named(patch: Manifest) -> Manifest:
    identity = {"apiVersion": patch.get("apiVersion", "v1"), "kind": patch.get("kind", _ANY)}
    metadata = patch.get("metadata") or {}
    return patch | identity | {"metadata": {"name": _ANY} | metadata if isinstance(metadata, dict) else metadata}
