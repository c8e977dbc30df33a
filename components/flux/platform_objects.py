"""The platform's own sync as plain manifests, with the names that `flux bootstrap` gives."""

from __future__ import annotations

from components.cluster.manifests import Manifest
from components.flux.config import PlatformSyncConfig
from components.flux.controllers import Controller
from components.sync.kustomization import kustomization
from components.sync.names import PLATFORM


def platform_path(config: PlatformSyncConfig, stack: str) -> str:
    """The folder of the platform's repository that belongs to a stack."""
    return config.path or default_path(stack)


def default_path(stack: str) -> str:
    """That folder where the stack names none; `flux bootstrap` is told the same."""
    return f"./clusters/{stack}"


def platform_kustomization(config: PlatformSyncConfig, path: str, decryption: Manifest) -> Manifest:
    """The Kustomization of the platform.

    Under the multi-tenant profile one without a service account would be impersonated as the powerless default one.
    """
    return kustomization(
        PLATFORM.metadata(PLATFORM.name),
        config,
        path=path,
        service_account=Controller.KUSTOMIZE.value,
        decryption=decryption,
    )
