"""What a stack would apply, as plain data: one object for each resource outside of Pulumi itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.render.facts import Facts, digest_of

PLATFORM = "platform"
"""The owner of every object that belongs to no tenant."""
CLUSTER_FOLDER = "cluster"
"""The folder of objects without a namespace."""
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
