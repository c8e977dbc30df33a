"""How encrypted files of a repository are decrypted: by age or OpenPGP keys, or a key management service; and the
`.sops.yaml` with which `sops` encrypts each file for the environments that read it.

Source of the cloud identities of a service account: https://fluxcd.io/flux/integrations/aws/, …/azure/, …/gcp/, and
https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import MISSING, NO_EFFECT, MisplacedValueError
from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import is_sealed
from flux_tenancy.components.config.yaml_files import Dumper, data_of
from flux_tenancy.components.keys.age_keys import (
    AgeIdentities,
    AgeIdentity,
    AgeRecipient,
    check_recipients,
    read_identities,
    with_recipients,
)
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.openpgp_keys import (
    OpenPgpFingerprint,
    OpenPgpKey,
    OpenPgpPrivateKeys,
    read_private_keys,
)
from flux_tenancy.components.vocabulary.names import ObjectMeta, SecretPurpose

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class KeyService:
    """A key management service.

    Attributes:
        rule: key of a creation rule in `.sops.yaml` that names keys of this service.
        settings: setting of the configuration -> annotation of the service account.
        required: the settings that the controller does not do without.
        identity: hosts that issue the identity, in addition to those of the keys.
        any_key: hosts of keys if the configuration names none.
    """

    rule: str
    settings: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    any_key: tuple[str, ...] = ()


KEY_SERVICES: Mapping[str, KeyService] = {
    name: KeyService(**row) for name, row in data_of(__file__, "key_services.yaml").items()
}


class AgeKeys(Section):
    """Keys of age. Source: https://age-encryption.org/v1"""

    identities: AgeIdentities = Field(
        description="Identities, one per line, the newest first; `flux-tenancy key sops` creates them."
    )
    recipients: tuple[AgeRecipient, ...] = Field(
        (), description="Their public keys in the same order; required for a post-quantum identity."
    )

    @property
    def parsed(self) -> tuple[AgeIdentity, ...]:
        return with_recipients(read_identities(self.identities.get_secret_value()), self.recipients)

    @model_validator(mode="after")
    def _recipients_fit(self) -> AgeKeys:
        if not is_sealed(self.identities):
            try:
                check_recipients(self.parsed)
            except InvalidKeyError as error:
                raise MisplacedValueError(("recipients",), message_of(error)) from None
            _check_public_halves("recipients", self.recipients, [each.recipient for each in self.parsed])
        return self


class OpenPgpKeys(Section):
    """Keys of OpenPGP. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openpgp-secret-entry"""

    private_keys: OpenPgpPrivateKeys = Field(description="Private keys without a passphrase, the newest first.")
    fingerprints: tuple[OpenPgpFingerprint, ...] = Field((), description="Their fingerprints in the same order.")

    @property
    def parsed(self) -> tuple[OpenPgpKey, ...]:
        return read_private_keys(self.private_keys.get_secret_value())

    @model_validator(mode="after")
    def _fingerprints_fit(self) -> OpenPgpKeys:
        if not is_sealed(self.private_keys):
            _check_public_halves("fingerprints", self.fingerprints, [each.fingerprint for each in self.parsed])
        return self


class WorkloadIdentity(Section):
    """A key management service, used with a separate service account; needs `flux.workloadIdentity`.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
    """

    provider: Literal["aws", "gcp", "azure", "vault"] = Field(
        description="The service; `vault` stands for OpenBao or Vault, one of `flux.vaults`."
    )
    role_arn: str | None = Field(None, description="aws: the IAM role that may use the keys.")
    service_account_email: str | None = Field(
        None, description="gcp: the service account that may use the keys; by default, the cluster's identity."
    )
    workload_identity_provider: str | None = Field(
        None, description="gcp, outside of GKE: `projects/…/workloadIdentityPools/…/providers/…`."
    )
    client_id: str | None = Field(None, description="azure: the managed identity or application that may use the keys.")
    tenant_id: str | None = Field(None, description="azure: the tenant of Entra ID that it belongs to.")
    keys: tuple[str, ...] = Field((), description="Keys of the encrypted files, as in `.sops.yaml`.")

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the service account."""
        settings = KEY_SERVICES[self.provider].settings
        given = {annotation: getattr(self, name) for name, annotation in settings.items()}
        return {annotation: value for annotation, value in given.items() if value is not None}

    @model_validator(mode="after")
    def _settings_fit(self) -> WorkloadIdentity:
        service = KEY_SERVICES[self.provider]
        for name in sorted({name for each in KEY_SERVICES.values() for name in each.settings}):
            key, value = str(type(self).model_fields[name].alias), getattr(self, name)
            if name not in service.settings and value is not None:
                raise MisplacedValueError(
                    (key,), NO_EFFECT(reason=f"it is not a setting of {self.provider}", remedy="remove it")
                )
            if name in service.required and value is None:
                raise MisplacedValueError((key,), MISSING())
        return self


class Decryption(Section):
    """Decryption of a repository's Secrets; several ways are possible, e.g. while a key is replaced.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption
    """

    age: AgeKeys | None = Field(None, description="Keys of age, the recommended way.")
    openpgp: OpenPgpKeys | None = Field(None, description="Keys of OpenPGP.")
    workload_identity: WorkloadIdentity | None = Field(
        None, description="A key management service, instead of keys; needs `flux.workloadIdentity`."
    )

    @model_validator(mode="after")
    def _some_way(self) -> Decryption:
        if self.age is None and self.openpgp is None and self.workload_identity is None:
            raise ValueError(
                Message(
                    "FT-CFG-200", "contains no key", "create one with `flux-tenancy key sops`, or remove the section"
                )
            )
        return self

    @property
    def rule_keys(self) -> dict[str, tuple[str, ...]]:
        """Keys of a creation rule in `.sops.yaml`, each with its recipients."""
        found: dict[str, tuple[str, ...]] = {}
        if self.age is not None:
            found["age"] = tuple(each.recipient for each in self.age.parsed)
        if self.openpgp is not None:
            found["pgp"] = tuple(each.fingerprint for each in self.openpgp.parsed)
        if self.workload_identity is not None and self.workload_identity.keys:
            found[KEY_SERVICES[self.workload_identity.provider].rule] = self.workload_identity.keys
        return found


def _check_public_halves(key: str, given: tuple[str, ...], derived: list[str]) -> None:
    """Check public keys against those of the private keys; they may be left out, and messages may repeat them."""
    if not given or list(given) == derived:
        return
    raise MisplacedValueError(
        (key,),
        Message(
            "FT-CFG-202",
            "does not list the public keys in the order of the private ones",
            f"set it to {', '.join(derived)}",
        ),
    )


# Sources: https://docs.aws.amazon.com/general/latest/gr/kms.html, …/sts.html
_AWS_DOMAINS = {"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn"}
_AWS_KEY = re.compile(r"arn:([\w-]+):kms:([\w-]+):")
_AZURE_KEY = re.compile(r"https://([\w.-]+)")


def key_service_hosts(identity: WorkloadIdentity) -> tuple[str, ...]:
    """The hosts that kustomize-controller connects to for an identity; empty if none follows from it.

    Vault servers are listed in `flux.vaults`; AWS hosts contain the region of the keys.
    """
    if identity.provider == "aws":
        found = [match for key in identity.keys if (match := _AWS_KEY.match(key))]
        return tuple(
            dict.fromkeys(
                f"{service}.{match[2]}.{_AWS_DOMAINS[match[1]]}"
                for match in found
                if match[1] in _AWS_DOMAINS
                for service in ("kms", "sts")
            )
        )
    own = identity.keys if identity.provider == "azure" else ()
    hosts = tuple(match[1].lower() for key in own if (match := _AZURE_KEY.match(key)))
    service = KEY_SERVICES[identity.provider]
    return (*service.identity, *(hosts or service.any_key))


@dataclass(frozen=True)
class DecryptionObjects:
    """The objects for the decryption of one sync.

    Attributes:
        manifests: the objects to create before the Kustomization and to delete after it.
        spec: the Kustomization's `decryption`; it refers to the Secret as `components.plan` has it.
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
    """The entries of the Secret; the controller recognizes the kind of a key by the suffix of its entry."""
    keys = {}
    if config.age is not None:
        keys["identity.agekey"] = config.age.identities.get_secret_value()
    if config.openpgp is not None:
        keys |= {f"{key.fingerprint}.asc": key.private for key in config.openpgp.parsed}
    return keys


# Flux has to read a manifest's kind and name, so only these fields may be encrypted.
ENCRYPTED_REGEX = "^(data|stringData)$"
MANIFEST = r".*\.ya?ml$"


@dataclass(frozen=True)
class Environment:
    """A folder that a cluster reads, and the recipients of its files.

    Attributes:
        path: folder of the repository, such as `./staging`.
        keys: recipients by key of a creation rule, e.g. by `age`; newest first.
    """

    path: str
    keys: Mapping[str, tuple[str, ...]]


def sops_config(environments: Iterable[Environment]) -> str:
    """The content of the file. Environments that read the same folder share its rules, since all have to decrypt it."""
    folders: dict[str, dict[str, dict[str, None]]] = {}
    for environment in environments:
        folder = folders.setdefault(_folder(environment.path), {})
        for kind, keys in environment.keys.items():
            folder.setdefault(kind, {}).update(dict.fromkeys(keys))
    # The first rule that matches wins, so a folder comes before its parent.
    deepest_first = sorted(folders, key=lambda path: (-path.count("/"), path))
    rules = [rule for path in deepest_first for rule in _rules(path, folders[path])]
    return yaml.dump({"creation_rules": rules}, Dumper=Dumper, sort_keys=False)


def _folder(path: str) -> str:
    """`staging/` for `./staging`; empty for the whole repository."""
    normal = PurePosixPath(path).as_posix()
    return "" if normal == "." else f"{normal}/"


def _rules(folder: str, keys: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    """The rules of a folder: of manifests only the data is encrypted, all other files as a whole."""
    beginning = "^" + re.sub(r"([.+*?()\[\]{}^$|\\])", r"\\\1", folder)
    recipients = {kind: ",".join(several) for kind, several in keys.items()}
    return [
        {"path_regex": beginning + MANIFEST, "encrypted_regex": ENCRYPTED_REGEX} | recipients,
        {"path_regex": beginning} | recipients,
    ]
