"""The objects of sources of all kinds but Git: credentials, certificates, keys, and the source.

Source: https://fluxcd.io/flux/components/source/
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.passed import merged
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.git.source import GitAccess, SourceObjects, planned_source, source_objects
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.sources.config import (
    HTTPS,
    BucketSource,
    ClientCertificate,
    ExternalArtifactSource,
    HelmRepositorySource,
    OCIRepositorySource,
    Proxy,
    RegistryCredentials,
    docker_config,
    registry_of,
)
from flux_tenancy.components.vocabulary.names import SOURCE_API
from flux_tenancy.components.vocabulary.object_meta import ObjectMeta, SecretPurpose

if TYPE_CHECKING:
    from flux_tenancy.components.keys.signing_keys import KeylessSigner
    from flux_tenancy.components.vocabulary.manifests import Manifest

GOOGLE_STORAGE = "storage.googleapis.com"
"""The endpoint of every Bucket of the provider gcp, whose client ignores `spec.endpoint`."""

FetchedSource: TypeAlias = GitSource | OCIRepositorySource | HelmRepositorySource | BucketSource
"""A source that source-controller fetches."""
AnySource: TypeAlias = FetchedSource | ExternalArtifactSource


def fetched_url(source: FetchedSource) -> str:
    """The URL of a source as `policies.sources.allowed` has it.

    components/policies/allowed-sources computes the same of objects, in CEL.
    """
    if not isinstance(source, BucketSource):
        return source.url
    host = GOOGLE_STORAGE if source.provider == "gcp" else source.endpoint.removeprefix(HTTPS)
    return f"bucket://{host}/{source.bucket_name}"


def is_encrypted(source: FetchedSource) -> bool:
    """Whether a source is fetched over TLS or SSH."""
    if isinstance(source, GitSource | HelmRepositorySource) and source.url.startswith("http://"):
        return False
    return isinstance(source, GitSource) or not source.insecure


DOCKER_CONFIG_TYPE = "kubernetes.io/dockerconfigjson"
_OPAQUE = "Opaque"

# Field of `BucketCredentials` -> entry of the Secret. Source: https://fluxcd.io/flux/components/source/buckets/#provider
_BUCKET_ENTRIES: Mapping[str, str] = {
    "access_key": "accesskey",
    "secret_key": "secretkey",
    "service_account_key": "serviceaccount",
    "account_key": "accountKey",
    "sas_key": "sasKey",
}


def objects_of(meta: ObjectMeta, source: AnySource, known_hosts: Sequence[str]) -> SourceObjects | None:
    """All objects of a source, except the Secret of its webhook; None for an artifact that others make."""
    if isinstance(source, GitSource):
        return source_objects(meta, source, known_hosts)
    if isinstance(source, HelmRepositorySource):
        return _helm_repository(meta, source)
    if isinstance(source, OCIRepositorySource):
        return _oci_repository(meta, source)
    return _bucket(meta, source) if isinstance(source, BucketSource) else None


class _Builder:
    """A source under construction: its `spec`, and the Secrets that it refers to."""

    def __init__(self, meta: ObjectMeta, source: HelmRepositorySource | OCIRepositorySource | BucketSource) -> None:
        self.meta, self.source = meta, source
        self.secrets: list[Manifest] = []
        self.spec: Manifest = {"interval": source.interval, "timeout": source.timeout}
        if source.suspend:
            self.spec["suspend"] = True
        if source.insecure:
            self.spec["insecure"] = True

    def set(self, **fields: object) -> None:
        """Set the fields of `spec` that have a value."""
        self.spec |= {key: value for key, value in fields.items() if value is not None}

    def secret(self, purpose: SecretPurpose, data: Mapping[str, str], type_: str = _OPAQUE) -> Manifest:
        """Add a Secret; returns the reference to it."""
        self.secrets.append(self.meta.generated_secret(purpose, data, type_))
        return {"name": self.meta.secret_reference(purpose)}

    def finished(self) -> SourceObjects:
        source = self.source
        if certificates := _certificates(source.certificate_authority, source.client_certificate):
            self.spec["certSecretRef"] = self.secret(SecretPurpose.CERTIFICATES, certificates)
        if not isinstance(source, HelmRepositorySource) and source.proxy is not None:
            self.spec["proxySecretRef"] = self.secret(SecretPurpose.PROXY, _proxy(source.proxy))
        manifest = {
            "apiVersion": SOURCE_API,
            "kind": source.kind,
            "metadata": self.meta.metadata(self.meta.name),
            "spec": merged(self.spec, source.further),
        }
        return SourceObjects(self.secrets, manifest, None)


def _helm_repository(meta: ObjectMeta, source: HelmRepositorySource) -> SourceObjects:
    building = _Builder(meta, source)
    building.set(url=source.url, type="oci" if source.is_oci else None)
    if source.credentials is not None:
        login = {
            "username": source.credentials.username,
            "password": source.credentials.password.get_secret_value().strip(),
        }
        building.set(secretRef=building.secret(SecretPurpose.CREDENTIALS, login))
    return building.finished()


def _oci_repository(meta: ObjectMeta, source: OCIRepositorySource) -> SourceObjects:
    building = _Builder(meta, source)
    building.set(
        url=source.url,
        layerSelector={"operation": "extract"} | source.layer_selector if source.layer_selector else None,
        provider=source.provider,
        serviceAccountName=source.service_account_name,
    )
    if source.credentials is not None:
        login = {".dockerconfigjson": _registry_login(source.url, source.credentials)}
        building.set(secretRef=building.secret(SecretPurpose.CREDENTIALS, login, DOCKER_CONFIG_TYPE))
    if (verify := source.verify) is not None:
        building.set(verify={"provider": verify.provider})
        if verify.keyless is not None:
            building.spec["verify"]["matchOIDCIdentity"] = [_identity(verify.keyless)]
        else:
            keys = {f"{name}.pub": key for name, key in verify.keys.items()}
            building.spec["verify"]["secretRef"] = building.secret(SecretPurpose.SIGNERS, keys)
    return building.finished()


def _bucket(meta: ObjectMeta, source: BucketSource) -> SourceObjects:
    building = _Builder(meta, source)
    building.set(
        bucketName=source.bucket_name,
        endpoint=source.endpoint,
        provider=source.provider,
        region=source.region,
        serviceAccountName=source.service_account_name,
    )
    if source.credentials is not None:
        given = {entry: getattr(source.credentials, field) for field, entry in _BUCKET_ENTRIES.items()}
        login = {
            entry: (value if isinstance(value, str) else value.get_secret_value()).strip()
            for entry, value in given.items()
            if value is not None
        }
        building.set(secretRef=building.secret(SecretPurpose.CREDENTIALS, login))
    return building.finished()


def _registry_login(url: str, credentials: RegistryCredentials) -> str:
    if credentials.docker_config is not None:
        return credentials.docker_config.get_secret_value()
    username = present(credentials.username, "there is no config")
    password = present(credentials.password, "there is no config")
    return docker_config(registry_of(url), username, password.get_secret_value().strip())


def _certificates(authority: str | None, client: ClientCertificate | None) -> dict[str, str]:
    """Source: https://fluxcd.io/flux/components/source/helmrepositories/#cert-secret-reference"""
    data = {"ca.crt": authority} if authority is not None else {}
    if client is not None:
        data |= {"tls.crt": client.certificate, "tls.key": client.private_key.get_secret_value()}
    return data


def _proxy(proxy: Proxy) -> dict[str, str]:
    """Source: https://fluxcd.io/flux/components/source/ocirepositories/#proxy-secret-reference"""
    data = {"address": proxy.address}
    if proxy.username is not None and proxy.password is not None:
        data |= {"username": proxy.username, "password": proxy.password.get_secret_value().strip()}
    return data


def _identity(signer: KeylessSigner) -> Manifest:
    """The patterns of an identity, anchored, since Flux searches for them anywhere in the certificate's fields."""
    subject = signer.subject_reg_exp if signer.subject is None else re.escape(signer.subject)
    return {"issuer": f"^{re.escape(signer.issuer)}$", "subject": f"^(?:{subject})$"}


def planned_any_source(meta: ObjectMeta, source: AnySource, access: GitAccess) -> list[Planned]:
    """What a source needs; nothing for an artifact that others make.

    Credentials are immutable Secrets with generated names. If they change, the engine first creates another Secret,
    then refers the source to it, and deletes the previous one last, so that Flux can log in at any time.
    """
    if isinstance(source, GitSource):
        return planned_source(meta, source, access)
    if (objects := objects_of(meta, source, known_hosts=())) is None:
        return []
    secrets = [Planned(Stage.CONTENT, secret) for secret in objects.secrets]
    return [*secrets, Planned(Stage.CONTENT, objects.source, needs=tuple(each.key for each in secrets))]
