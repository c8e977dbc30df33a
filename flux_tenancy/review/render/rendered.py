"""What a stack would apply, as plain data: one object for each resource outside of Pulumi itself; and as a folder."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import quoting
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.project.errors import OperationError, writing
from flux_tenancy.review.render.facts import Facts, digest_of
from flux_tenancy.review.words import PLATFORM as PLATFORM

CLUSTER_FOLDER = "cluster"
"""The folder of objects without a namespace."""
GENERATED = "<generated when first applied>"
"""What stands for a value that only an update can know."""
PROTECT = "protect"
"""Pulumi's option for resources that are not to be deleted or replaced."""
_KUBERNETES = "kubernetes:"


@dataclass(frozen=True)
class RenderedObject:
    """One object that a stack would apply.

    Attributes:
        owner: the name of the tenant that it belongs to, or PLATFORM.
        type: Pulumi's type token, e.g. `kubernetes:apps/v1:Deployment` or
            `github:index/repositoryDeployKey:RepositoryDeployKey`.
        resource: the resource's name in the stack's state, unique for its type.
        manifest: the Kubernetes object. For other resources a mapping with the keys `kind` (the last part of the type),
            `metadata` (`name`) and `properties`. Secret values are replaced by keyed digests of their encrypted form.
        protected: whether Pulumi refuses to delete or replace it.
    """

    owner: str
    type: str
    resource: str
    manifest: Manifest
    protected: bool = False

    @property
    def is_kubernetes(self) -> bool:
        """Whether this is an object of the cluster."""
        return self.type.startswith(_KUBERNETES) and "apiVersion" in self.manifest

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace; empty for cluster-scoped objects and for what is outside of the cluster."""
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the object in two renders of a stack: type and name of its resource."""
        return self.type, self.resource

    @cached_property
    def digest(self) -> str:
        """`sha256:…` of what identifies the object, of its manifest, and of its protection if it has one."""
        return digest_of([*self.key, self.manifest, *([PROTECT] if self.protected else [])])

    @property
    def path(self) -> PurePosixPath:
        """Its file below the stack's folder: `<owner>/<namespace or provider>/<kind>-<name>.yaml`."""
        folder = self.namespace or (CLUSTER_FOLDER if self.is_kubernetes else self.type.partition(":")[0])
        # The resource's name, unlike the object's, is known before an update has generated it. A colon, as in the names
        # of roles, is refused by Windows and by archives of CI systems.
        name = self.resource.rpartition("/")[2].replace(":", "_")
        return PurePosixPath(self.owner, folder, f"{self.kind.lower()}-{name}.yaml")


@dataclass(frozen=True)
class Render:
    """All that a stack would apply.

    Attributes:
        objects: in the order of their paths.
        digest: `sha256:…` of all objects and facts; equal if and only if the same would be applied to the same cluster
            by the same program.
        facts: what else decides about an update (`review.render.facts`); None if that program does not record them.
    """

    stack: str
    objects: tuple[RenderedObject, ...]
    digest: str
    facts: Facts | None = None

    @classmethod
    def of(cls, stack: str, objects: Iterable[RenderedObject], facts: Facts | None = None) -> Render:
        """The render of a stack from its objects, in any order."""
        ordered = tuple(sorted(objects, key=lambda each: (each.path, each.key)))
        digests: list[Any] = [each.digest for each in ordered]
        return cls(stack, ordered, digest_of([*digests, *([facts] if facts is not None else [])]), facts)


DIGESTS = "digest.json"
"""The file with the digests of a render and of each of its objects."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

Digest = Annotated[str, StringConstraints(pattern=rf"^{_DIGEST.pattern}$")]


class Digests(BaseModel):
    """What identifies a render, as its file `digest.json` has it.

    Attributes:
        digest: of the whole render.
        objects: of each object, by its path below the stack's folder.
        facts: of each fact that decides about an update besides the objects, by its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stack: str
    digest: Digest
    objects: Mapping[str, Digest]
    facts: Mapping[str, Digest] = Field(default_factory=dict)

    @classmethod
    def of(cls, render: Render) -> Digests:
        """The digests of a render."""
        return cls(
            stack=render.stack,
            digest=render.digest,
            objects={str(each.path): each.digest for each in render.objects},
            facts={name: digest_of(value) for name, value in (render.facts or {}).items()},
        )

    def as_json(self) -> str:
        """The content of `digest.json`: the same text on every machine."""
        return json.dumps(self.model_dump(), indent=2, sort_keys=True) + "\n"


def is_digest(text: str) -> bool:
    """Whether a text is a whole digest, `sha256:` with 64 hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


def differences(approved: Digests, found: Digests) -> list[str]:
    """What differs from an approved render, one line a fact and one an object, by names and paths."""
    return [*_differences(approved.facts, found.facts), *_differences(approved.objects, found.objects)]


def _differences(approved: Mapping[str, Digest], found: Mapping[str, Digest]) -> Iterator[str]:
    for name in sorted({*approved, *found}):
        before, after = approved.get(name), found.get(name)
        if before != after:
            word = "added" if before is None else "removed" if after is None else "changed"
            yield f"{word} {name}"


@quoting
class _Dumper(yaml.CSafeDumper):
    """Writes text of several lines as a block, which shows changes line by line."""


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def write_render(rendered: Render, out: Path) -> Path:
    """Write a render; returns its folder, which holds nothing else afterwards.

    Args:
        out: the folder of all renders.

    Raises:
        OperationError: the stack's folder has other files than an earlier render's, or cannot be written.
    """
    folder = out / rendered.stack
    with writing(folder):
        if folder.exists():
            _delete_render(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # First, so that what a killed render has written is known to be a render's.
        (folder / DIGESTS).write_text(Digests.of(rendered).as_json(), encoding="utf-8")
        for each in rendered.objects:
            file = folder / each.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(as_file(each), encoding="utf-8")
    return folder


def _delete_render(folder: Path) -> None:
    """Delete the files of an earlier render, or an empty folder.

    Raises:
        OperationError: the folder has other files, or is a link; nothing is deleted.
    """
    try:
        earlier = Digests.model_validate_json((folder / DIGESTS).read_text(encoding="utf-8"))
        written = {DIGESTS, *earlier.objects}
    except (OSError, ValueError):
        written = set()
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()}
    if folder.is_symlink() or not folder.is_dir() or not found <= written:
        raise OperationError(
            Message(
                "FT-REV-001",
                f"{folder} has files that `flux-tenancy review render` has not written",
                "name an empty folder, or one of an earlier render, with `--out`",
            )
        )
    shutil.rmtree(folder)


def as_file(rendered: RenderedObject) -> str:
    """The content of an object's file; what only Pulumi knows is in a comment."""
    return (f"# {PROTECT}: true\n" if rendered.protected else "") + as_yaml(rendered.manifest)


def as_yaml(manifest: Any) -> str:
    """A manifest as YAML, in the order of its keys."""
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
