"""Flux Kustomizations: the keys that the platform's sync and those of tenants share, and their manifests.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/

Patches are written as data, and Flux takes them as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE
from flux_tenancy.components.config.section import Passed, Section, merged, written
from flux_tenancy.components.config.types import Duration
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, KUSTOMIZATION, KUSTOMIZE_API

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


class PatchOperation(Section):
    """An operation of a JSON patch. Source: RFC 6902."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="The operation.")
    path: str = Field(description="JSON pointer to the field, e.g. `/spec/replicas`.")
    value: Any = Field(None, description="add, replace, test: the value.")
    from_: str | None = Field(None, alias="from", description="move, copy: JSON pointer to the original field.")


class Patch(Section):
    """A change of objects of the source, as data or as text."""

    target: dict[str, Any] | None = Field(
        None,
        description=(
            "Objects to change: `group`, `version`, `kind`, `namespace`, `name`, `labelSelector`, "
            "`annotationSelector`; required for `operations`."
        ),
    )
    merge: dict[str, Any] | None = Field(
        None, description="Strategic merge patch; with a `target` it needs neither kind nor name."
    )
    operations: tuple[PatchOperation, ...] = Field((), description="JSON patch (RFC 6902) instead of `merge`.")
    patch: str | None = Field(None, description="Either of them as Flux's text.")

    @model_validator(mode="after")
    def _one_kind(self) -> Patch:
        if [self.merge is not None, bool(self.operations), self.patch is not None].count(True) != 1:
            raise ValueError(EXACTLY_ONE(keys="merge, operations and patch"))
        return self


# What Kustomize reads of a patch with a target, and then ignores.
# Source: transformStrategicMerge in api/internal/builtins/PatchTransformer.go of sigs.k8s.io/kustomize
_ANY = "any"


def patches(configured: Iterable[Patch]) -> list[Manifest]:
    """Patches as Flux takes them, with the patch itself as a YAML document."""
    return [_patch(each) for each in configured]


def _patch(patch: Patch) -> Manifest:
    target = {"target": written(patch.target)} if patch.target is not None else {}
    if patch.patch is not None:
        return {"patch": patch.patch} | target
    if patch.merge is None:
        # A value of an operation may be null.
        content: Any = [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in patch.operations]
    else:
        content = _named(patch.merge) if target else patch.merge
    return {"patch": yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True)} | target


def _named(patch: Manifest) -> Manifest:
    identity = {"apiVersion": patch.get("apiVersion", "v1"), "kind": patch.get("kind", _ANY)}
    metadata = patch.get("metadata") or {}
    return patch | identity | {"metadata": {"name": _ANY} | metadata if isinstance(metadata, dict) else metadata}


class SyncOptions(Passed):
    """How a folder is applied, without its decryption.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    interval: Duration = Field("10m", description="How often to correct drift.")
    retry_interval: Duration = Field("1m", description="How soon to retry after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete objects that were removed from the repository.")
    wait: bool = Field(True, description="Ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Suspend reconciling and pruning.")
    patches: tuple[Patch, ...] = Field((), description="Changes of objects (docs/syncs.md).")
    health_checks: tuple[dict[str, Any], ...] = Field(
        (),
        description=(
            "Objects that must be ready, with `wait: false`; a tenant's `namespace` defaults to "
            "`targetNamespace`, or else its home."
        ),
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
    """How a folder of a repository is applied. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

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
        source: its `sourceRef`; defaults to the GitRepository with the same name.
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
