"""OpenBao and Vault servers with which kustomize-controller may decrypt, as a manifest.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
"""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from components.flux.config import VaultServer
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import FLUX_NAMESPACE

CONFIG_MAP = "sops-vault"
# Supported since kustomize-controller 1.9, which is part of Flux 2.9.
VAULT_ARGUMENT = f"--sops-vault-configmap={CONFIG_MAP}"


def vault_config_map(servers: Sequence[VaultServer]) -> Manifest:
    """The allow-list of servers, which the controller reads for each decryption."""
    instances = [{"address": server.address, "loginPath": server.login_path} for server in servers]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": FLUX_NAMESPACE},
        "data": {"config.yaml": yaml.safe_dump({"instances": instances})},
    }
