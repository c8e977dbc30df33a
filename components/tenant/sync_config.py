"""A tenant's syncs: how folders of its sources are applied."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.config.types import DnsLabel, NamespaceName, RepositoryPath
from components.sync.config import SyncOptions


class TenantSync(SyncOptions):
    """What all syncs of a tenant have in common."""

    source: DnsLabel | None = Field(
        None,
        description="Name of the source to apply, in `sources` or offered by `shared`; defaults to `source`, or in "
        "`syncs` to the source of `sync`.",
    )
    path: RepositoryPath = Field("./", description="Folder of the source to apply.")
    target_namespace: NamespaceName | None = Field(
        None,
        description="Namespace for all objects of the repository; one of the tenant's own.",
    )
    deletion_policy: Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"] = Field(
        "WaitForTermination",
        description="What happens to the applied objects when the tenant is removed: delete and wait, delete, keep "
        "(`Orphan`), or as `prune` says (`MirrorPrune`).",
    )
    depends_on: tuple[DnsLabel, ...] = Field(
        (),
        description="Syncs of the tenant that must be ready first, by name; the one in `sync` has the tenant's name.",
    )


class FurtherSync(TenantSync):
    """A further sync of the tenant, with the decryption and the service account of `sync` (docs/syncs.md).

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """
