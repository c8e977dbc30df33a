"""A tenant's syncs, its own and further ones: their section, their order, and their Kustomizations.

Source: `flux create kustomization` of Flux's reference
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from flux_tenancy.components.config.types import DnsLabel, NamespaceName, RepositoryPath
from flux_tenancy.components.plan.planned import Planned, Stage, key_of
from flux_tenancy.components.sync.decryption import decryption_objects
from flux_tenancy.components.sync.kustomization import SyncOptions, kustomization
from flux_tenancy.components.tenant.capsule.proxy import kube_config
from flux_tenancy.components.tenant.sources import source_reference

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.tenant.sources import SourceReference
    from flux_tenancy.components.vocabulary.manifests import Manifest


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
