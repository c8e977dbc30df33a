"""Flux Kustomizations as plain manifests. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

from __future__ import annotations

from components.sync.build import build_fields
from components.sync.config import SyncOptions
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import GIT_REPOSITORY, KUSTOMIZE_API


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
        decryption: its `decryption` (`components.sync.decryption_objects`).
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
