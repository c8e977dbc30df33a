"""Flux Kustomizations: the keys that the platform's sync and those of tenants share, and their manifests.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from flux_tenancy.components.config.passed import Passed, merged, written
from flux_tenancy.components.config.types import Duration
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.sync.patches import Patch, patches
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, KUSTOMIZATION, KUSTOMIZE_API

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


class SyncOptions(Passed):
    """How a folder is applied, without its decryption.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    interval: Duration = Field("10m", description="How often to compare with the cluster and correct drift.")
    retry_interval: Duration = Field("1m", description="How soon to retry after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete objects that were removed from the repository.")
    wait: bool = Field(True, description="Report the sync as ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Suspend reconciling and pruning.")
    patches: tuple[Patch, ...] = Field((), description="Changes of objects (docs/syncs.md).")
    health_checks: tuple[dict[str, Any], ...] = Field(
        (),
        description="Objects that must be ready, with `wait: false`; for a tenant, `namespace` defaults to "
        "`targetNamespace`, or else the tenant's home.",
    )

    kind_of_object = KUSTOMIZATION
    api_reference = "https://fluxcd.io/flux/components/kustomize/api/v1/"
    owned: ClassVar[Mapping[str, str]] = {
        "decryption": "set the decryption of the tenant's `sync`",
        "kubeConfig": "remove it: a stack is a cluster",
        "serviceAccountName": "remove it",
        "sourceRef": "set source",
    }


class Reconciliation(SyncOptions):
    """How a folder of a repository is applied.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    decryption: Decryption | None = Field(
        None, description="Decryption of Secrets that are encrypted by SOPS (docs/secrets.md)."
    )


def kustomization(
    metadata: Manifest,
    config: SyncOptions,
    *,
    source: Manifest | None = None,
    path: str,
    service_account: str,
    decryption: Manifest,
    namespace: str | None = None,
) -> Manifest:
    """A Kustomization that applies a folder of a source, as a service account of its namespace.

    Args:
        metadata: its metadata.
        config: how it is reconciled.
        source: its `sourceRef`; defaults to the GitRepository with the same name.
        path: the folder.
        service_account: name of the service account.
        decryption: its `decryption` (`components.sync.decryption`).
        namespace: of objects in `healthChecks` that name none.
    """
    spec: Manifest = {
        "serviceAccountName": service_account,
        "sourceRef": source or {"kind": GIT_REPOSITORY, "name": metadata["name"]},
        "path": path,
        "interval": config.interval,
        "retryInterval": config.retry_interval,
        "timeout": config.timeout,
        "prune": config.prune,
        "wait": config.wait,
        "decryption": decryption,
        "suspend": config.suspend or None,
        "patches": patches(config.patches) or None,
        "healthChecks": [written({"namespace": namespace} | written(each)) for each in config.health_checks] or None,
    }
    own = {key: value for key, value in spec.items() if value is not None}
    spec = merged(own, config.further)
    return {"apiVersion": KUSTOMIZE_API, "kind": KUSTOMIZATION, "metadata": metadata, "spec": spec}
