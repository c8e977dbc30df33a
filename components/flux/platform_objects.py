"""The platform's own sync as plain manifests, with the same names as `flux bootstrap` uses."""

from __future__ import annotations

from components.flux.config import PlatformSyncConfig
from components.flux.controllers import Controller
from components.sync.kustomization import kustomization
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import PLATFORM


def platform_path(config: PlatformSyncConfig, stack: str) -> str:
    """The folder of the platform's repository that belongs to a stack."""
    return config.path or default_path(stack)


def default_path(stack: str) -> str:
    """The folder of a stack that does not set one."""
    return f"./clusters/{stack}"


def platform_kustomization(config: PlatformSyncConfig, path: str, decryption: Manifest) -> Manifest:
    """The Kustomization of the platform.

    It names a service account, since under the multi-tenant profile the default one has no rights.
    """
    return kustomization(
        PLATFORM.metadata(PLATFORM.name),
        config,
        path=path,
        service_account=Controller.KUSTOMIZE.value,
        decryption=decryption,
    )
