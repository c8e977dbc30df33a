"""Flux Kustomizations as plain manifests. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

from __future__ import annotations

from components.cluster.manifests import Manifest
from components.sync.config import Reconciliation
from components.sync.names import GIT_REPOSITORY, KUSTOMIZE_API


def kustomization(
    metadata: Manifest,
    config: Reconciliation,
    *,
    path: str,
    service_account: str,
    decryption: Manifest,
) -> Manifest:
    """A Kustomization that applies a folder of the source with the same name, as a service account of its namespace.

    Args:
        metadata: its metadata.
        config: how it is reconciled.
        path: the folder.
        service_account: name of the service account.
        decryption: its `decryption` (`components.sync.decryption_objects`).
    """
    spec: Manifest = {
        "serviceAccountName": service_account,
        "sourceRef": {"kind": GIT_REPOSITORY, "name": metadata["name"]},
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
    return {"apiVersion": KUSTOMIZE_API, "kind": "Kustomization", "metadata": metadata, "spec": spec}
