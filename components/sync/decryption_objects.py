"""The objects that let a Kustomization decrypt, as plain manifests.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
"""

from __future__ import annotations

from dataclasses import dataclass

from components.cluster.manifests import Manifest
from components.cluster.object_meta import ObjectMeta, SecretPurpose
from components.sync.decryption import Decryption

# The controller tells kinds of keys by how their names end.
AGE_ENTRY = "identity.agekey"
OPENPGP_ENTRY = "{fingerprint}.asc"


@dataclass(frozen=True)
class DecryptionObjects:
    """What decrypts for one sync.

    Attributes:
        standing: what has to stand before the Kustomization and to go after it.
        spec: the Kustomization's `decryption`; it refers to the Secret as `components.cluster.generated_names` has it.
    """

    standing: list[Manifest]
    spec: Manifest


def decryption_objects(meta: ObjectMeta, config: Decryption | None) -> DecryptionObjects:
    """The Secret with the keys, and the service account for a key management service, as far as there are such."""
    standing: list[Manifest] = []
    # Without any key too. A Kustomization without a provider does not refuse an encrypted Secret, but applies its
    # `stringData` as it is, encrypted (seen with kustomize-controller 1.9.5).
    spec: Manifest = {"provider": "sops"}
    if config is None:
        return DecryptionObjects(standing, spec)
    if keys := _keys(config):
        standing.append(meta.generated_secret(SecretPurpose.SOPS, keys))
        spec["secretRef"] = {"name": meta.secret_reference(SecretPurpose.SOPS)}
    if config.workload_identity is not None:
        account = decryption_account(meta.name)
        standing.append(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                # Bound to no role: it is somebody to the cloud, and nobody in the cluster.
                "metadata": meta.metadata(account) | {"annotations": config.workload_identity.annotations},
                "automountServiceAccountToken": False,
            }
        )
        spec["serviceAccountName"] = account
    return DecryptionObjects(standing, spec)


def decryption_account(sync: str) -> str:
    """The service account as which a sync uses a key management service."""
    return f"{sync}-decryption"


def _keys(config: Decryption) -> dict[str, str]:
    keys = {}
    if config.age is not None:
        keys[AGE_ENTRY] = config.age.identities.get_secret_value()
    if config.openpgp is not None:
        keys |= {OPENPGP_ENTRY.format(fingerprint=key.fingerprint): key.private for key in config.openpgp.parsed}
    return keys
