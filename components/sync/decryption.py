"""Who decrypts what lies encrypted in a repository: keys of age and OpenPGP, or a key management service."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.keys.age_keys import AgeIdentity, read_identities
from components.keys.openpgp_keys import OpenPgpKey, read_private_keys
from components.keys.types import AgeIdentities, AgeRecipient, OpenPgpFingerprint, OpenPgpPrivateKeys
from components.sync.workload_identity import PROVIDERS


class AgeKeys(Section):
    """Keys of age. Source: https://age-encryption.org/v1"""

    identities: AgeIdentities = Field(
        description="Identities, one on each line, the newest first; all of them decrypt. `make sops-key` makes them."
    )
    recipients: tuple[AgeRecipient, ...] = Field(
        (),
        description="Their public halves in the same order, for those who encrypt; `make sops-key` writes them.",
    )

    @property
    def parsed(self) -> tuple[AgeIdentity, ...]:
        return read_identities(self.identities.get_secret_value())

    @model_validator(mode="after")
    def _recipients_fit(self) -> AgeKeys:
        _check_public_halves("recipients", self.recipients, [each.recipient for each in self.parsed])
        return self


class OpenPgpKeys(Section):
    """Keys of OpenPGP. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openpgp-secret-entry"""

    private_keys: OpenPgpPrivateKeys = Field(
        description="Armored private keys without a passphrase, one block each, the newest first; all of them decrypt. "
        "`make sops-key OPENPGP=1` makes them."
    )
    fingerprints: tuple[OpenPgpFingerprint, ...] = Field(
        (), description="Their fingerprints in the same order, for those who encrypt; `make sops-key` writes them."
    )

    @property
    def parsed(self) -> tuple[OpenPgpKey, ...]:
        return read_private_keys(self.private_keys.get_secret_value())

    @model_validator(mode="after")
    def _fingerprints_fit(self) -> OpenPgpKeys:
        _check_public_halves("fingerprints", self.fingerprints, [each.fingerprint for each in self.parsed])
        return self


class WorkloadIdentity(Section):
    """A key management service, used as a service account of its own; needs `flux.workloadIdentity`.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
    """

    provider: Literal["aws", "gcp", "azure", "vault"] = Field(
        description="The service; `vault` is OpenBao or Vault, one of `flux.vaults`."
    )
    role_arn: str | None = Field(None, description="aws: the IAM role that may use the keys.")
    service_account_email: str | None = Field(
        None, description="gcp: the service account that may use the keys; the cluster's own identity where left out."
    )
    workload_identity_provider: str | None = Field(
        None, description="gcp: where the cluster is no GKE, `projects/…/workloadIdentityPools/…/providers/…`."
    )
    client_id: str | None = Field(None, description="azure: the managed identity or application that may use the keys.")
    tenant_id: str | None = Field(None, description="azure: the tenant of Entra ID that it belongs to.")
    keys: tuple[str, ...] = Field(
        (), description="The keys that files are encrypted with, as `.sops.yaml` names them, for those who encrypt."
    )

    @property
    def annotations(self) -> dict[str, str]:
        """What the service account carries."""
        settings = PROVIDERS[self.provider].settings
        given = {setting.annotation: getattr(self, name) for name, setting in settings.items()}
        return {annotation: value for annotation, value in given.items() if value is not None}

    @model_validator(mode="after")
    def _settings_fit(self) -> WorkloadIdentity:
        own = PROVIDERS[self.provider].settings
        everything = {name for provider in PROVIDERS.values() for name in provider.settings}
        for name in sorted(everything):
            key, value = str(type(self).model_fields[name].alias), getattr(self, name)
            if name not in own and value is not None:
                raise MisplacedValueError((key,), f"is nothing that {self.provider} knows; take it out")
            if name in own and own[name].required and value is None:
                raise MisplacedValueError((key,), f"is required for {self.provider} and missing")
            if name in own and value is not None and not re.fullmatch(own[name].pattern, value):
                raise MisplacedValueError((key,), f"{value!r} is refused by Flux, which expects {own[name].pattern}")
        return self


class Decryption(Section):
    """What decrypts the Secrets of a repository; several ways side by side are possible, as for a change of key.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
    """

    age: AgeKeys | None = Field(None, description="Keys of age, the way to begin with.")
    openpgp: OpenPgpKeys | None = Field(None, description="Keys of OpenPGP.")
    workload_identity: WorkloadIdentity | None = Field(None, description="A key management service, without any key.")

    @model_validator(mode="after")
    def _some_way(self) -> Decryption:
        if self.age is None and self.openpgp is None and self.workload_identity is None:
            raise ValueError("names nothing that decrypts; `make sops-key` makes a key, or take it out")
        return self

    @property
    def rule_keys(self) -> dict[str, tuple[str, ...]]:
        """Key of a creation rule in `.sops.yaml` -> whom it encrypts for."""
        found: dict[str, tuple[str, ...]] = {}
        if self.age is not None:
            found["age"] = tuple(each.recipient for each in self.age.parsed)
        if self.openpgp is not None:
            found["pgp"] = tuple(each.fingerprint for each in self.openpgp.parsed)
        if self.workload_identity is not None and self.workload_identity.keys:
            found[PROVIDERS[self.workload_identity.provider].rule] = self.workload_identity.keys
        return found


def _check_public_halves(key: str, given: tuple[str, ...], derived: list[str]) -> None:
    """What is given is public, so a message may repeat it; nothing given is in order, since it can be derived."""
    if not given or list(given) == derived:
        return
    strangers = [each for each in given if each not in derived]
    reason = f"has {', '.join(strangers)}, which nobody here can decrypt for" if strangers else "is not whole"
    raise MisplacedValueError((key,), f"{reason}; it must be {', '.join(derived)}")
