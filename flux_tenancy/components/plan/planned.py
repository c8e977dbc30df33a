"""An object that a stack wants: whose it is, when it is created, how it is deleted, and what it takes of a quota."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, plural_of
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION

if TYPE_CHECKING:
    import pulumi


class Stage(Enum):
    """When an object is created. Objects are deleted in reverse order.

    Limits come before anyone gets access. Access comes after everything but the syncs, so that it is deleted before
    anything whose deletion a controller or a Git host could block; and while Flux prunes, it may still impersonate the
    tenant's account, and the account may still delete. Nothing waits for the access of people, which goes first.
    """

    CAPSULE = "the tenant as Capsule knows it"
    NAMESPACES = "namespaces"
    LIMITS = "quotas, container limits and network policies"
    PEOPLE = "access of people"
    IDENTITY = "service accounts"
    READING = "rights of Flux's controllers without which no source is fetched and no message is sent"
    CONTENT = "sources, keys, roles, messages and values"
    ACCESS = "bindings of the tenant's account, and the right of Flux to impersonate it"
    SYNCS = "Kustomizations and HelmReleases"

    @property
    def after(self) -> tuple[Stage, ...]:
        """The stages that an object of this one is created after."""
        return _AFTER[self]


_LIMITED = (Stage.NAMESPACES, Stage.LIMITS)
_AFTER: Mapping[Stage, tuple[Stage, ...]] = {
    Stage.CAPSULE: (),
    Stage.NAMESPACES: (Stage.CAPSULE,),
    Stage.LIMITS: (Stage.NAMESPACES,),
    Stage.PEOPLE: _LIMITED,
    Stage.IDENTITY: _LIMITED,
    Stage.READING: _LIMITED,
    Stage.CONTENT: (*_LIMITED, Stage.READING),
    Stage.ACCESS: (*_LIMITED, Stage.IDENTITY, Stage.READING, Stage.CONTENT),
    Stage.SYNCS: (Stage.ACCESS,),
}


class Deletion(Enum):
    """What the deletion of an object waits for."""

    IMMEDIATE = "nothing"
    CLEANED = "a controller that removes its own copies"
    PRUNED = "Flux, which prunes what it has applied"
    EMPTIED = "everything in a namespace"


_DELETIONS = {
    "GitRepository": Deletion.CLEANED,
    "Provider": Deletion.CLEANED,
    "Receiver": Deletion.CLEANED,
    KUSTOMIZATION: Deletion.PRUNED,
    HELM_RELEASE: Deletion.PRUNED,
    "Namespace": Deletion.EMPTIED,
}

Registered = Mapping[str, "pulumi.CustomResource"]
"""Resources by the key of what was planned."""
Make = Callable[["pulumi.ResourceOptions", Registered], "pulumi.CustomResource"]
"""Registers a planned object, given its options and what was registered before."""


@dataclass(frozen=True)
class Planned:
    """An object that a stack wants, in the cluster or at a Git host.

    Attributes:
        manifest: the object; of one at a Git host, the kind and the name of its resource.
        needs: keys of objects of the same owner that it is created after, besides those of earlier stages. An object
            with a generated name that it refers to is always among them (`components.plan.registration`).
        room: what it takes of the quotas of its namespace, by their resource names. By default, an object counts once,
            and one with a generated name twice, since it exists twice while it is replaced. Empty for what counts among
            the tenant's own objects, or with another object.
        make: registers it if there is more to it than its manifest.
        beside: whether it is registered beside the component of its owner, not in it, since an update may need it
            before its owner.
    """

    stage: Stage
    manifest: Manifest
    needs: tuple[str, ...] = ()
    room: Mapping[str, int] | None = None
    make: Make | None = None
    beside: bool = False

    @property
    def kind(self) -> str:
        kind: str = self.manifest["kind"]
        return kind

    @property
    def name(self) -> str:
        """Its name, or the prefix of a name that is generated."""
        metadata = self.manifest["metadata"]
        name: str = metadata.get("name") or metadata["generateName"]
        return name

    @property
    def namespace(self) -> str:
        """Its namespace; empty if it has none."""
        namespace: str = self.manifest["metadata"].get("namespace", "")
        return namespace

    @property
    def key(self) -> str:
        """What identifies it among all that is planned: kind, and name with its namespace."""
        return key_of(self.manifest)

    @property
    def room_taken(self) -> Mapping[str, int]:
        """What it takes of the quotas of its namespace, by their resource names."""
        if self.room is not None:
            return self.room
        return {counted_as(self.manifest): 2 if "generateName" in self.manifest["metadata"] else 1}

    @property
    def deletion(self) -> Deletion:
        if self.stage is Stage.CAPSULE:
            return Deletion.EMPTIED
        return _DELETIONS.get(self.kind, Deletion.IMMEDIATE)

    @property
    def is_named(self) -> bool:
        """Whether it is an object of the cluster whose name somebody else could have taken."""
        return "apiVersion" in self.manifest and "name" in self.manifest["metadata"]


def key_of(manifest: Manifest) -> str:
    """The key of a planned object; of one with a generated name, its prefix takes the place of the name."""
    metadata = manifest["metadata"]
    name = metadata["generateName"].removesuffix("-") if "generateName" in metadata else name_of(manifest)
    return f"{manifest['kind']} {name}"


def counted_as(manifest: Manifest) -> str:
    """The resource name under which a quota counts objects of this kind, e.g. `count/roles.rbac.authorization.k8s.io`.

    Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
    """
    group, _, _ = manifest["apiVersion"].rpartition("/")
    plural = plural_of(manifest["kind"])
    return f"count/{plural}.{group}" if group else f"count/{plural}"


def of_stage(planned: Iterable[Planned], *stages: Stage) -> list[Planned]:
    """What is planned for these stages."""
    return [each for each in planned if each.stage in stages]
