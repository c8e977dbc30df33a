"""What Flux does with the manifests of a folder before it applies them, and when they count as ready."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, checked_by, matching
from flux_tenancy.components.config.yaml_files import Dumper

if TYPE_CHECKING:
    from cel_expr_python import cel

    from flux_tenancy.components.sync.kustomization import SyncOptions
    from flux_tenancy.components.vocabulary.manifests import Manifest

# Flux parses these expressions without types, since custom resources have any fields. Functions are looked up when an
# expression is evaluated; of its extensions only optional types change the syntax.
# Source: NewExpression in runtime/cel/expression.go and NewStatusEvaluator of github.com/fluxcd/pkg
_EXTENSIONS = "extensions:\n- name: optional\n"


def syntax_error(expression: str) -> str:
    """Where and why an expression is not CEL, as `line:column: reason`; empty if it is."""
    try:
        _environment().compile(expression, disable_check=True)
    except RuntimeError as error:
        place, _, reason = str(error).splitlines()[0].partition("<input>:")[2].partition(": ")
        # What the parser expected instead is a list of nearly every token.
        return f"{place}: {reason.partition(' expecting ')[0]}"
    return ""


@cache
def _environment() -> cel.Env:
    # A library of 14 MB, which most stacks do without.
    from cel_expr_python import cel

    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_EXTENSIONS))


def _component(value: str) -> str:
    if not value or value.startswith("/"):
        raise ValueError(
            Message("FT-SYN-304", "is not relative to path", "write it like ../components/tls, inside the same source")
        )
    return value


def _expression(value: str) -> str:
    if reason := syntax_error(value):
        raise ValueError(
            Message("FT-SYN-314", f"is not a CEL expression ({reason})", "write it like status.phase == 'Running'")
        )
    return value


# Source: varsubRegex in kustomize/kustomize_varsub.go of github.com/fluxcd/pkg
VariableName = Annotated[
    str,
    *matching(
        r"^[_A-Za-z][_A-Za-z0-9]*$",
        Message(
            "FT-SYN-300",
            "is not the name of a variable",
            "use letters, digits and underscores, and begin with no digit",
        ),
    ),
]
# Source: RFC 6901
JsonPointer = Annotated[
    str,
    *matching(r"^(/([^/~]|~[01])*)+$", Message("FT-SYN-301", "is not a JSON pointer", "write it like /spec/replicas")),
]
ImageDigest = Annotated[
    str,
    *matching(
        r"^sha256:[0-9a-f]{64}$",
        Message("FT-SYN-302", "is not the digest of an image", "write it like sha256:<64 hexadecimal digits>"),
    ),
]
NamePart = Annotated[
    str,
    *matching(
        r"^[-a-z0-9.]{1,200}$",
        Message("FT-SYN-303", "is not part of a name", "use lowercase letters, digits, dashes and dots, 200 at most"),
    ),
]
ComponentPath = Annotated[str, *checked_by(_component, "a folder, relative to path, e.g. ../components/tls")]
CelExpression = Annotated[str, *checked_by(_expression, "a CEL expression, e.g. status.phase == 'Running'")]


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
    path: JsonPointer = Field(description="JSON pointer to the field, e.g. `/spec/replicas`.")
    value: Any = Field(None, description="add, replace, test: the value.")
    from_: JsonPointer | None = Field(None, alias="from", description="move, copy: JSON pointer to the original field.")

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
        if not isinstance((self.merge or {}).get("metadata") or {}, dict):
            raise MisplacedValueError(
                ("merge", "metadata"), Message("FT-SYN-315", "is not a mapping", "write it like {labels: {a: b}}")
            )
        if self.target is None and not _names_an_object(self.merge or {}):
            raise ValueError(
                Message(
                    "FT-SYN-306",
                    "has no target",
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
    optional: bool = Field(False, description="Whether the object may be missing.")


class PostBuild(Section):
    """Substitution of variables, `${name}` or `${name:=default}`, in the built manifests."""

    substitute: dict[VariableName, str] = Field(
        default_factory=dict, description="Values of variables; Flux removes line breaks from them."
    )
    substitute_from: tuple[SubstituteReference, ...] = Field(
        (),
        description="ConfigMaps and Secrets with more values; later entries override earlier ones, and "
        "`substitute` overrides all.",
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
    """An object that must be ready."""

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


# What Kustomize reads of a patch with a target, and then ignores.
# Source: transformStrategicMerge in api/internal/builtins/PatchTransformer.go of sigs.k8s.io/kustomize
_ANY = "any"


def build_fields(config: SyncOptions, namespace: str | None = None) -> Manifest:
    """The fields of a Kustomization's `spec`; those that are not configured are absent.

    Args:
        config: how the folder is applied.
        namespace: of objects in `healthChecks` that name none.
    """
    spec: Manifest = {
        "commonMetadata": given(config.common_metadata) if config.common_metadata else None,
        "components": list(config.components),
        "force": config.force,
        "healthCheckExprs": [given(each) for each in config.health_check_exprs],
        "healthChecks": [_health_check(each, namespace) for each in config.health_checks],
        "ignore": ignore_rules(config.ignore),
        "ignoreMissingComponents": config.ignore_missing_components,
        "images": image_replacements(config.images),
        "namePrefix": config.name_prefix,
        "nameSuffix": config.name_suffix,
        "patches": patches(config.patches),
        "postBuild": given(config.post_build) if config.post_build else None,
    }
    return {key: value for key, value in spec.items() if value}


def given(section: Section) -> Manifest:
    """The values of a section by their keys in the files, without those that are absent or empty."""
    values = section.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return {key: value for key, value in values.items() if value not in ({}, [])}


def patches(configured: Iterable[Patch]) -> list[Manifest]:
    """Patches as Flux takes them, with the patch itself as a YAML document."""
    return [_patch(each) for each in configured]


def image_replacements(configured: Iterable[ImageReplacement]) -> list[Manifest]:
    """Replacements of images as Flux takes them."""
    return [given(each) for each in configured]


def ignore_rules(configured: Iterable[IgnoreRule]) -> list[Manifest]:
    """Rules for drift as Flux takes them."""
    return [given(each) for each in configured]


def _patch(patch: Patch) -> Manifest:
    target = given(patch.target) if patch.target is not None else None
    if patch.merge is None:
        # A value of an operation may be null.
        content: Any = [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in patch.operations]
    else:
        content = patch.merge if target is None else _named(patch.merge)
    text = yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return {"patch": text} | ({"target": target} if target is not None else {})


def _named(patch: Manifest) -> Manifest:
    metadata = patch.get("metadata") or {}
    identity = {"apiVersion": patch.get("apiVersion", "v1"), "kind": patch.get("kind", _ANY)}
    return patch | identity | {"metadata": {"name": _ANY} | metadata}


def _health_check(check: HealthCheck, namespace: str | None) -> Manifest:
    found = given(check)
    return found if check.namespace or namespace is None else found | {"namespace": namespace}
