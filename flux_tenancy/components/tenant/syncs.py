"""A tenant's sources and what Flux applies of them: the section of its syncs, their order, and their Kustomizations.

A name in the configuration stands for a source's object; Flux's lockdown allows no references to other namespaces.

Source: `flux create kustomization` of Flux's reference
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from flux_tenancy.components.config.types import DnsLabel, NamespaceName, RepositoryPath
from flux_tenancy.components.plan import Planned, Stage, key_of
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.sources.objects import planned_any_source
from flux_tenancy.components.sync.decryption import decryption_objects
from flux_tenancy.components.sync.kustomization import SyncOptions, kustomization
from flux_tenancy.components.tenant.capsule.config import kube_config
from flux_tenancy.components.tenant.scope import TenantScope, all_sources
from flux_tenancy.components.vocabulary.names import EXTERNAL_ARTIFACT, GIT_REPOSITORY, SOURCE_RESOURCES

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


# At most login, certificates, proxy and public keys, each twice while it is replaced.
_SECRETS_OF_A_SOURCE = 8


def planned_sources(tenant: TenantScope) -> Iterator[Planned]:
    """All sources of the tenant with their Secrets, Receivers and keys, and the keys that decrypt what they contain."""
    for meta, source in all_sources(tenant.name, tenant.config):
        for each in planned_any_source(meta, source, tenant.access):
            if each.kind == "Secret":
                yield replace(each, room={})
            elif each.kind in SOURCE_RESOURCES:
                resource = f"count/{SOURCE_RESOURCES[each.kind]}.source.toolkit.fluxcd.io"
                # The room at home has that of the tenant's own repository.
                yield replace(each, room={resource: 1, "count/secrets": _SECRETS_OF_A_SOURCE} if meta.owner else {})
            else:
                yield each
    for manifest in decryption_objects(tenant.home, tenant.config.sync.decryption).manifests:
        yield Planned(Stage.CONTENT, manifest, room={})


@dataclass(frozen=True)
class SourceReference:
    """A source's object.

    Attributes:
        kind: its kind, e.g. `OCIRepository`.
        namespace: its namespace, the tenant's home.
    """

    kind: str
    name: str
    namespace: str

    @property
    def reference(self) -> Manifest:
        """A `sourceRef` of the same namespace."""
        return {"kind": self.kind, "name": self.name}

    @property
    def planned(self) -> tuple[str, ...]:
        """The key of its object among all that is planned; empty for an artifact that others make."""
        if self.kind == EXTERNAL_ARTIFACT:
            return ()
        return (key_of({"kind": self.kind, "metadata": {"name": self.name, "namespace": self.namespace}}),)


def source_reference(tenant: str, config: TenantConfig, name: str | None = None) -> SourceReference:
    """The object of one of a tenant's sources.

    Args:
        name: name of the source in `sources`; None for the tenant's own repository, `source`.

    Raises:
        KeyError: the tenant has no source of that name; the checks of the stack report it first.
    """
    if name is None:
        return SourceReference(GIT_REPOSITORY, tenant, config.home)
    source = config.sources[name]
    object_name = (source.name or name) if isinstance(source, ExternalArtifactSource) else name
    return SourceReference(source.kind, object_name, config.home)


class TenantSync(SyncOptions):
    """What all syncs of a tenant have in common."""

    source: DnsLabel | None = Field(
        None,
        description=(
            "Source to apply, in `sources` or offered by `shared`; defaults to `source`, or in "
            "`syncs` to the source of `sync`."
        ),
    )
    path: RepositoryPath = Field("./", description="Folder of the source to apply.")
    target_namespace: NamespaceName | None = Field(
        None, description="Namespace for all objects of the repository; must belong to the tenant."
    )
    deletion_policy: Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"] = Field(
        "WaitForTermination",
        description=(
            "The applied objects when the tenant is removed: delete and wait, delete, keep (`Orphan`), or "
            "follow `prune` (`MirrorPrune`)."
        ),
    )
    depends_on: tuple[DnsLabel, ...] = Field(
        (), description="Syncs of the tenant that must be ready first; `sync` has the tenant's name."
    )


class FurtherSync(TenantSync):
    """A further sync of the tenant, with the decryption and the service account of `sync` (docs/syncs.md).

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """


Dependencies = Mapping[str, Collection[str]]
"""Name -> the names that it depends on."""


def in_order(dependencies: Dependencies) -> list[str]:
    """All names, each after those that it depends on; names that are only depended on are left out.

    Raises:
        graphlib.CycleError: there is a circle; the checks of the stack report it first.
    """
    known = {name: [each for each in needed if each in dependencies] for name, needed in dependencies.items()}
    return list(TopologicalSorter(known).static_order())


def circle(dependencies: Dependencies) -> list[str]:
    """A circle, e.g. `[a, b, a]` where a depends on b and b on a; empty if there is none."""
    try:
        in_order(dependencies)
    except CycleError as error:
        # The sorter lists each name before those that depend on it.
        found: list[str] = error.args[1][::-1]
        # Begins with the first in alphabetical order, so that a message does not change by itself.
        first = found.index(min(found))
        return [*found[first:-1], *found[: first + 1]]
    return []


def planned_syncs(tenant: TenantScope) -> Iterator[Planned]:
    """The tenant's Kustomizations."""
    config = tenant.config
    decryption = decryption_objects(tenant.home, config.sync.decryption)
    decrypting = [key_of(each) for each in decryption.manifests]
    for name, sync in config.all_syncs(tenant.name).items():
        source = source_reference(tenant.name, config, sync.source or config.sync.source)
        yield applied_from(source, _sync(tenant, name, source, decryption.spec), decrypting)


def applied_from(source: SourceReference, manifest: Manifest, keys: Iterable[str] = ()) -> Planned:
    """What Flux applies for a tenant, after its source and what it depends on. It counts among the tenant's own."""
    metadata = manifest["metadata"]
    needed = [
        key_of(manifest | {"metadata": metadata | {"name": each["name"]}})
        for each in manifest["spec"].get("dependsOn", ())
    ]
    return Planned(Stage.SYNCS, manifest, needs=(*source.planned, *keys, *needed), room={})


def _sync(tenant: TenantScope, name: str, source: SourceReference, decryption: Manifest) -> Manifest:
    """One of the tenant's syncs, by the name of its Kustomization."""
    config = tenant.config
    sync = config.all_syncs(tenant.name)[name]
    manifest = kustomization(
        tenant.home.metadata(name),
        sync,
        source=source.reference,
        path=sync.path,
        service_account=tenant.account,
        decryption=decryption,
        namespace=sync.target_namespace or config.home,
    )
    manifest["spec"]["deletionPolicy"] = sync.deletion_policy
    if sync.target_namespace is not None:
        manifest["spec"]["targetNamespace"] = sync.target_namespace
    if sync.depends_on:
        manifest["spec"]["dependsOn"] = [{"name": each} for each in sync.depends_on]
    manifest["spec"] |= kube_config(tenant.name, tenant.account, tenant.tenancy.capsule.proxy)
    return manifest
