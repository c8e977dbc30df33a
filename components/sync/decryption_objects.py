"""The objects that let a Kustomization decrypt, as plain manifests.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sync.decryption import Decryption
from components.vocabulary.manifests import Manifest
from components.vocabulary.object_meta import ObjectMeta, SecretPurpose

# The controller recognizes the kind of a key by the suffix of its entry.
AGE_ENTRY = "identity.agekey"
OPENPGP_ENTRY = "{fingerprint}.asc"


@dataclass(frozen=True)
class DecryptionObjects:
    """The objects for the decryption of one sync.

    Attributes:
        manifests: the objects to create before the Kustomization and to delete after it.
        spec: the Kustomization's `decryption`; it refers to the Secret as `components.plan.generated_names` has it.
    """

    manifests: list[Manifest]
    spec: Manifest


def decryption_objects(meta: ObjectMeta, config: Decryption | None) -> DecryptionObjects:
    """The Secret with the keys and the service account for a key management service, each if it is configured."""
    manifests: list[Manifest] = []
    # Set even without any key: a Kustomization without a provider does not reject an encrypted Secret, but applies its
    # `stringData` in encrypted form (seen with kustomize-controller 1.9.5).
    spec: Manifest = {"provider": "sops"}
    if config is None:
        return DecryptionObjects(manifests, spec)
    if keys := _keys(config):
        manifests.append(meta.generated_secret(SecretPurpose.SOPS, keys))
        spec["secretRef"] = {"name": meta.secret_reference(SecretPurpose.SOPS)}
    if config.workload_identity is not None:
        account = decryption_account(meta.name)
        manifests.append(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                # Bound to no role: it has rights in the cloud and none in the cluster.
                "metadata": meta.metadata(account) | {"annotations": config.workload_identity.annotations},
                "automountServiceAccountToken": False,
            }
        )
        spec["serviceAccountName"] = account
    return DecryptionObjects(manifests, spec)


def decryption_account(sync: str) -> str:
    """Name of the service account with which a sync uses a key management service."""
    return f"{sync}-decryption"


def _keys(config: Decryption) -> dict[str, str]:
    keys = {}
    if config.age is not None:
        keys[AGE_ENTRY] = config.age.identities.get_secret_value()
    if config.openpgp is not None:
        keys |= {OPENPGP_ENTRY.format(fingerprint=key.fingerprint): key.private for key in config.openpgp.parsed}
    return keys
