"""What Flux does with the manifests of a folder before it applies them, and when they count as ready.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from components.config.errors import MisplacedValueError
from components.config.messages import Message, Wording
from components.config.section import Section
from components.config.types import DnsLabel
from components.sync.types import CelExpression, ImageDigest, JsonPointer, VariableName


class Selector(Section):
    """Objects that all given conditions match; all objects if there are none."""

    group: str | None = Field(None, description="API group.")
    version: str | None = Field(None, description="API version.")
    kind: str | None = Field(None, description="Kind; a regular expression.")
    namespace: str | None = Field(None, description="Namespace; a regular expression.")
    name: str | None = Field(None, description="Name; a regular expression.")
    label_selector: str | None = Field(None, description="Labels, e.g. `app=web,tier!=cache`.")
    annotation_selector: str | None = Field(None, description="Annotations, in the same notation.")


Operator = Literal["add", "remove", "replace", "move", "copy", "test"]
_WITH_VALUE = frozenset({"add", "replace", "test"})
_WITH_ORIGIN = frozenset({"move", "copy"})


class PatchOperation(Section):
    """An operation of a JSON patch. Source: RFC 6902."""

    op: Operator = Field(description="The operation.")
    path: JsonPointer = Field(description="Where, e.g. `/spec/replicas`.")
    value: Any = Field(None, description="add, replace, test: the value.")
    from_: JsonPointer | None = Field(None, alias="from", description="move, copy: where the value comes from.")

    @model_validator(mode="after")
    def _operands(self) -> PatchOperation:
        for name, wanted in (("value", _WITH_VALUE), ("from_", _WITH_ORIGIN)):
            key, given = name.removesuffix("_"), name in self.model_fields_set
            if given != (self.op in wanted):
                wording = (
                    Wording("FT-SYN-308", "is ignored by the operation {op}", "remove it")
                    if given
                    else Wording("FT-SYN-307", "is required for the operation {op} and missing")
                )
                raise MisplacedValueError((key,), wording(op=self.op))
        return self


class Patch(Section):
    """A change of objects of the source, written as data."""

    target: Selector | None = Field(None, description="The objects to change; required for `operations`.")
    merge: dict[str, Any] | None = Field(
        None,
        description="Strategic merge patch: fields of the object with their new values; with a `target` it needs "
        "neither kind nor name.",
    )
    operations: tuple[PatchOperation, ...] = Field((), description="JSON patch (RFC 6902) instead of `merge`.")

    @model_validator(mode="after")
    def _one_kind(self) -> Patch:
        if (self.merge is None) == (not self.operations):
            raise ValueError(Message("FT-SYN-305", "needs exactly one of merge and operations"))
        if self.target is None and not _names_an_object(self.merge or {}):
            raise ValueError(
                Message(
                    "FT-SYN-306",
                    "does not say which objects it changes",
                    "set target, or in merge apiVersion, kind and metadata.name of one object",
                )
            )
        return self


class ImageReplacement(Section):
    """Another name, tag or digest for an image."""

    name: str = Field(min_length=1, description="Name of the image in the manifests, without a tag.")
    new_name: str | None = Field(None, description="Name to use instead.")
    new_tag: str | None = Field(None, description="Tag to use instead.")
    digest: ImageDigest | None = Field(None, description="Digest to use instead of a tag.")

    @model_validator(mode="after")
    def _some_change(self) -> ImageReplacement:
        if self.new_name is None and self.new_tag is None and self.digest is None:
            raise ValueError(Message("FT-SYN-309", "replaces nothing", "set newName, newTag or digest"))
        if self.new_tag is not None and self.digest is not None:
            raise MisplacedValueError(
                ("newTag",), Message("FT-SYN-310", "is ignored by Flux if there is a digest", "keep one of them")
            )
        return self


class SubstituteReference(Section):
    """A ConfigMap or Secret of the sync's namespace; each key is a variable."""

    kind: Literal["ConfigMap", "Secret"] = Field(description="`ConfigMap` or `Secret`.")
    name: str = Field(min_length=1, description="Its name.")
    optional: bool = Field(False, description="Whether it may be missing.")


class PostBuild(Section):
    """Substitution of variables, `${name}` or `${name:=default}`, in the built manifests."""

    substitute: dict[VariableName, str] = Field(
        default_factory=dict, description="Values of variables; Flux removes line breaks from them."
    )
    substitute_from: tuple[SubstituteReference, ...] = Field(
        (), description="Where more values are; later ones override earlier ones, and `substitute` overrides all."
    )
    substitute_strategy: Literal["WithVariables", "Always"] = Field(
        "WithVariables", description="`Always` substitutes defaults even if there are no variables."
    )

    @model_validator(mode="after")
    def _some_variables(self) -> PostBuild:
        if not (self.substitute or self.substitute_from or self.substitute_strategy == "Always"):
            raise ValueError(
                Message(
                    "FT-SYN-313",
                    "names no variables, so Flux substitutes nothing",
                    "set substitute or substituteFrom, or substituteStrategy to Always",
                )
            )
        return self


class HealthCheck(Section):
    """An object that has to be ready."""

    api_version: str = Field(min_length=1, description="API version, e.g. `apps/v1`.")
    kind: str = Field(min_length=1, description="Kind, e.g. `Deployment`.")
    name: str = Field(min_length=1, description="Name.")
    namespace: DnsLabel | None = Field(
        None, description="Namespace; for a tenant, defaults to `targetNamespace`, or else the tenant's home."
    )


class HealthCheckExpressions(Section):
    """When objects of a custom kind are ready: expressions in CEL over their fields, e.g. `status.phase == 'Ready'`.

    Source: https://fluxcd.io/flux/cheatsheets/cel-healthchecks/
    """

    api_version: str = Field(min_length=1, description="API version of the objects.")
    kind: str | None = Field(None, min_length=1, description="Their kind; defaults to all of that API version.")
    current: CelExpression = Field(description="True when they are ready.")
    in_progress: CelExpression | None = Field(None, description="True while they are not ready yet.")
    failed: CelExpression | None = Field(None, description="True when they have failed.")


class IgnoreRule(Section):
    """Fields whose drift Flux neither reports nor corrects."""

    paths: tuple[JsonPointer, ...] = Field(min_length=1, description="The fields, e.g. `/spec/replicas`.")
    target: Selector | None = Field(None, description="The objects; defaults to all.")


class CommonMetadata(Section):
    """Labels and annotations of all objects."""

    labels: dict[str, str] = Field(default_factory=dict, description="Labels.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Annotations.")


def _names_an_object(patch: dict[str, Any]) -> bool:
    metadata = patch.get("metadata")
    return bool(patch.get("apiVersion") and patch.get("kind") and isinstance(metadata, dict) and metadata.get("name"))
