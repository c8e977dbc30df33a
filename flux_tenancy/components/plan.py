"""The plan: every object that a stack wants, as plain data, and the one place where a plan becomes resources.

The manifest of an object with a generated name has `generateName` instead of a name, and a reference to it has that
prefix without the final dash until the object is registered and its name is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import pulumi

from flux_tenancy.components.config.errors import BrokenInvariantError
from flux_tenancy.components.vocabulary.manifests import Manifest, former_type, name_of, plural_of, resource_type
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION


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
            with a generated name that it refers to is always among them (`components.plan`).
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


_REFERENCES = ("secretRef", "certSecretRef", "proxySecretRef")
# In HelmReleases: a list of references to Secrets and ConfigMaps, and values, in which nothing is a reference.
_VALUES_FROM, _VALUES = "valuesFrom", "values"


def generated_names(registered: Iterable[tuple[Manifest, pulumi.CustomResource]]) -> dict[str, pulumi.Output[str]]:
    """The generated names of registered objects, by the placeholder in references to them."""
    return {
        prefix.removesuffix("-"): _name_of(resource)
        for manifest, resource in registered
        if (prefix := manifest["metadata"].get("generateName")) is not None
    }


def referring(manifest: Manifest, names: Mapping[str, pulumi.Input[str]]) -> Manifest:
    """The manifest with the generated name in each reference to such a Secret.

    Args:
        names: the generated names (`generated_names`).
    """

    def part(key: str, value: Any) -> Any:
        if key in _REFERENCES and isinstance(value, dict) and value["name"] in names:
            return value | {"name": names[value["name"]]}
        if key == _VALUES_FROM:
            return [
                each | {"name": names[each["name"]]} if each["kind"] == "Secret" and each["name"] in names else each
                for each in value
            ]
        return referring(value, names) if isinstance(value, dict) and key != _VALUES else value

    return {key: part(key, value) for key, value in manifest.items()}


def _name_of(resource: pulumi.CustomResource) -> pulumi.Output[str]:
    # The SDK gives a resource an attribute for each of its properties.
    metadata: pulumi.Output[dict[str, str]] = resource.metadata  # type: ignore[attr-defined]
    # An update that leaves out a new object (`--target`) has only what the program has given, which has no name.
    return metadata.apply(lambda found: found.get("name", ""))


# Registered objects belong to Pulumi alone. Neither a Flux that was bootstrapped before nor a copy in a repository may
# apply or prune them, and Pulumi wins conflicts with other field managers.
# Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources and
# https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
OWNERSHIP = {"kustomize.toolkit.fluxcd.io/reconcile": "disabled", "pulumi.com/patchForce": "true"}

# By default the provider deletes in the foreground, which waits for all dependents that block it. A tenant's object can
# name any cluster-scoped object, or any in its namespace, as its owner. So only kinds for which the cluster itself
# creates dependents are deleted in the foreground.
# Source: https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/#pulumi-kubernetes-annotations
BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}
_WITH_DEPENDENTS = frozenset({"Deployment"})


def register_planned(
    planned: Sequence[Planned],
    options: Callable[[Planned], pulumi.ResourceOptions],
    early: Registered = MappingProxyType({}),
) -> dict[str, pulumi.CustomResource]:
    """Register what is planned for one owner, each object after those of earlier stages and those that it needs.

    Args:
        early: what is registered already, by key.

    Returns:
        The resources by key.
    """
    wanted = {each.key: each for each in planned}
    if len(wanted) != len(planned):
        raise BrokenInvariantError("two objects have one name, although the checks of the stack refuse that")
    by_stage = {stage: of_stage(wanted.values(), stage) for stage in Stage}
    registered: dict[str, pulumi.CustomResource] = {}
    names: dict[str, pulumi.Output[str]] = {}

    def add(each: Planned) -> pulumi.CustomResource:
        if each.key not in registered:
            before = [registered[one.key] for one in _before(each.stage, by_stage)]
            needed = [add(wanted[key]) for key in each.needs]
            opts = pulumi.ResourceOptions.merge(options(each), pulumi.ResourceOptions(depends_on=[*before, *needed]))
            make = each.make or _as_planned(referring(each.manifest, names))
            registered[each.key] = early[each.key] if each.key in early else make(opts, registered)
            names.update(generated_names([(each.manifest, registered[each.key])]))
        return registered[each.key]

    for stage in Stage:
        for each in by_stage[stage]:
            add(each)
    return registered


def _before(stage: Stage, by_stage: Mapping[Stage, Sequence[Planned]]) -> Iterator[Planned]:
    """What an object of a stage is created after; for a stage without objects, what they would be created after."""
    for each in stage.after:
        yield from by_stage[each] or _before(each, by_stage)


def _as_planned(manifest: Manifest) -> Make:
    return lambda opts, _: register(manifest, opts)


def owned(manifest: Manifest) -> Manifest:
    """The manifest, marked as Pulumi's, and so that nobody's dependents block its deletion."""
    metadata = manifest["metadata"]
    own = OWNERSHIP if manifest["kind"] in _WITH_DEPENDENTS else OWNERSHIP | BACKGROUND
    return manifest | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | own}}


def register(manifest: Manifest, opts: pulumi.ResourceOptions, name: str = "") -> pulumi.CustomResource:
    """Register one manifest, marked as Pulumi's; a Secret's data is secret in state, diffs and logs, too.

    The resource has the object's name in the cluster, unless the name is unknown and another one is given. Pulumi
    generates names itself, since server-side apply does not let the API server do it: a replacement is then another
    object, created before the previous one is deleted.

    Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/

    The typed classes of `pulumi_kubernetes` would do the same, but importing and translating them would take most of
    the run time of a stack with hundreds of objects.
    """
    properties = owned(manifest)
    if manifest["kind"] == "Secret":
        properties["data"] = pulumi.Output.secret(manifest["data"])
    if (prefix := manifest["metadata"].get("generateName")) is not None:
        name = prefix.removesuffix("-")
        properties["metadata"] = {key: value for key, value in properties["metadata"].items() if key != "generateName"}
    if (former := former_type(manifest)) is not None:
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=former)]))
    return pulumi.CustomResource(resource_type(manifest), name or name_of(manifest), properties, opts)


# Prefix of the provider's field managers; the rest of the name is random.
# Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
FIELD_MANAGER = "pulumi-kubernetes-"


def carries_marks(metadata: Manifest) -> bool:
    """Whether the program has applied an object, for this stack or another one."""
    annotations = metadata.get("annotations") or {}
    return OWNERSHIP.items() <= annotations.items() and bool(applying_managers(metadata))


def applying_managers(metadata: Mapping[str, Any]) -> list[str]:
    """The field managers by which Pulumi has applied an object: the provider draws one when it creates it."""
    managers: list[dict[str, Any]] = metadata.get("managedFields") or []
    names = [str(each.get("manager")) for each in managers if each.get("operation") == "Apply"]
    return [name for name in names if name.startswith(FIELD_MANAGER)]
