"""Flux Kustomizations: the keys that the platform's sync and those of tenants share, and their manifests.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Duration
from flux_tenancy.components.sync.build import (
    CommonMetadata,
    ComponentPath,
    HealthCheck,
    HealthCheckExpressions,
    IgnoreRule,
    ImageReplacement,
    NamePart,
    Patch,
    PostBuild,
    build_fields,
)
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, KUSTOMIZE_API

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


class SyncOptions(Section):
    """How a folder is applied, without its decryption.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    interval: Duration = Field("10m", description="How often to compare with the cluster and correct drift.")
    retry_interval: Duration = Field("1m", description="How soon to retry after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete objects that were removed from the repository.")
    wait: bool = Field(True, description="Report the sync as ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Suspend reconciling and pruning.")
    force: bool = Field(False, description="Recreate objects whose immutable fields change.")
    components: tuple[ComponentPath, ...] = Field((), description="Kustomize components, relative to `path`.")
    ignore_missing_components: bool = Field(False, description="Leave out components that the source lacks.")
    patches: tuple[Patch, ...] = Field((), description="Changes of objects (docs/syncs.md).")
    images: tuple[ImageReplacement, ...] = Field((), description="Replacements of image names, tags and digests.")
    name_prefix: NamePart | None = Field(None, description="Prefix for the names of all objects.")
    name_suffix: NamePart | None = Field(None, description="Suffix for the names of all objects.")
    common_metadata: CommonMetadata | None = Field(None, description="Labels and annotations of all objects.")
    post_build: PostBuild | None = Field(None, description="Substitution of variables (docs/syncs.md).")
    health_checks: tuple[HealthCheck, ...] = Field(
        (), description="Objects that must be ready, with `wait: false`; other objects are not checked."
    )
    health_check_exprs: tuple[HealthCheckExpressions, ...] = Field(
        (), description="When objects of custom kinds are ready, as CEL."
    )
    ignore: tuple[IgnoreRule, ...] = Field(
        (),
        description="Fields whose drift Flux does not correct. To leave files out of the fetch, set `ignore` "
        "of the source.",
    )

    @model_validator(mode="after")
    def _checked_health(self) -> SyncOptions:
        if self.health_checks and self.wait:
            raise MisplacedValueError(
                ("healthChecks",),
                Message(
                    "FT-SYN-311",
                    "is ignored by Flux while wait is true, since it then checks everything that it applies",
                    "remove it, or set wait to false",
                ),
            )
        if self.health_check_exprs and not self.wait and not self.health_checks:
            raise MisplacedValueError(
                ("healthCheckExprs",),
                Message(
                    "FT-SYN-312",
                    "is ignored by Flux without wait and without healthChecks",
                    "set wait to true, or list the objects in healthChecks",
                ),
            )
        return self


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
    }
    if config.suspend:
        spec["suspend"] = True
    spec |= build_fields(config, namespace)
    return {"apiVersion": KUSTOMIZE_API, "kind": "Kustomization", "metadata": metadata, "spec": spec}
