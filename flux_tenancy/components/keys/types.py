"""Keys and certificates as types of the configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from flux_tenancy.components.config.types import secret, unshown
from flux_tenancy.components.keys import known_hosts
from flux_tenancy.components.keys.age_keys import identity_file, read_identities, read_recipient
from flux_tenancy.components.keys.openpgp_keys import key_ring, read_fingerprint, read_private_keys
from flux_tenancy.components.keys.signing_keys import read_app_key, read_authority, read_cosign_key, read_signing_key
from flux_tenancy.components.keys.ssh_keys import read_private_key

SshPrivateKey = Annotated[SecretStr, *secret(lambda text: read_private_key(text).private, "secret private SSH key")]
AgeIdentities = Annotated[
    SecretStr, *secret(lambda text: identity_file(read_identities(text)), "secret age identities")
]
AgeRecipient = Annotated[str, *unshown(read_recipient, "an age recipient, which begins with age1")]
OpenPgpPrivateKeys = Annotated[
    SecretStr, *secret(lambda text: key_ring(read_private_keys(text)), "secret OpenPGP private keys, armored")
]
OpenPgpFingerprint = Annotated[str, *unshown(read_fingerprint, "fingerprint of an OpenPGP key")]
RsaPrivateKey = Annotated[SecretStr, *secret(read_app_key, "secret private RSA key, PEM")]
CertificateAuthority = Annotated[str, *unshown(read_authority, "one or more certificates, PEM")]
SigningKey = Annotated[str, *unshown(read_signing_key, "OpenPGP public key, armored, or SSH public key")]
CosignPublicKey = Annotated[str, *unshown(read_cosign_key, "cosign public key, PEM")]
KnownHost = Annotated[str, *unshown(known_hosts.check_line, "a line of an SSH `known_hosts` file")]
