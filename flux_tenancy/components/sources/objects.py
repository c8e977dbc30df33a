"""The objects of sources of all kinds but Git: credentials, certificates, keys, and the source.

Source: https://fluxcd.io/flux/components/source/
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.section import merged
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.git.source import GitAccess, planned_source, source_objects
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
from flux_tenancy.components.vocabulary.names import SOURCE_API, ObjectMeta, SecretPurpose

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

# Field of `BucketCredentials` -> entry of the Secret. Source: https://fluxcd.io/flux/components/source/buckets/#provider
_BUCKET_ENTRIES: Mapping[str, str] = {
    "access_key": "accesskey",
    "secret_key": "secretkey",
    "service_account_key": "serviceaccount",
    "account_key": "accountKey",
    "sas_key": "sasKey",
}


def objects_of(meta: ObjectMeta, source: AnySource, known_hosts: Sequence[str]) -> list[Manifest]:
    """The Secrets of a source but that of its webhook, and last the source; none for an artifact that others make."""
    if isinstance(source, GitSource):
        return source_objects(meta, source, known_hosts)
    if isinstance(source, ExternalArtifactSource):
        return []
    secrets: list[Manifest] = []

    def reference(purpose: SecretPurpose, data: Mapping[str, str], type_: str = "Opaque") -> Manifest | None:
        if not data:
            return None
        secrets.append(meta.generated_secret(purpose, data, type_))
        return {"name": meta.secret_reference(purpose)}

    login_type = DOCKER_CONFIG_TYPE if isinstance(source, OCIRepositorySource) else "Opaque"
    spec: Manifest = {
        "interval": source.interval,
        "timeout": source.timeout,
        "suspend": source.suspend or None,
        "insecure": source.insecure or None,
        "secretRef": reference(SecretPurpose.CREDENTIALS, _login(source), login_type),
    }
    if isinstance(source, HelmRepositorySource):
        spec |= {"url": source.url, "type": "oci" if source.is_oci else None}
    else:
        spec |= {"provider": source.provider, "serviceAccountName": source.service_account_name}
    if isinstance(source, BucketSource):
        spec |= {"bucketName": source.bucket_name, "endpoint": source.endpoint, "region": source.region}
    if isinstance(source, OCIRepositorySource):
        spec["url"] = source.url
        if source.layer_selector:
            spec["layerSelector"] = {"operation": "extract"} | source.layer_selector
        if (verify := source.verify) is not None and verify.keyless is not None:
            spec["verify"] = {"provider": verify.provider, "matchOIDCIdentity": [_identity(verify.keyless)]}
        elif verify is not None:
            keys = {f"{name}.pub": key for name, key in verify.keys.items()}
            spec["verify"] = {"provider": verify.provider, "secretRef": reference(SecretPurpose.SIGNERS, keys)}
    certificates = _certificates(source.certificate_authority, source.client_certificate)
    spec["certSecretRef"] = reference(SecretPurpose.CERTIFICATES, certificates)
    if not isinstance(source, HelmRepositorySource) and source.proxy is not None:
        spec["proxySecretRef"] = reference(SecretPurpose.PROXY, _proxy(source.proxy))
    own = {key: value for key, value in spec.items() if value is not None}
    manifest = {"apiVersion": SOURCE_API, "kind": source.kind, "metadata": meta.metadata(meta.name)}
    return [*secrets, manifest | {"spec": merged(own, source.further)}]


def _login(source: HelmRepositorySource | OCIRepositorySource | BucketSource) -> dict[str, str]:
    """The entries of the Secret that a source is fetched with; none without credentials."""
    if source.credentials is None:
        return {}
    if isinstance(source, OCIRepositorySource):
        return {".dockerconfigjson": _registry_login(source.url, source.credentials)}
    found: dict[str, str] = {}
    for entry, value in source.credentials:
        if value is not None:
            found[_BUCKET_ENTRIES.get(entry, entry)] = (
                value if isinstance(value, str) else value.get_secret_value()
            ).strip()
    return found


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
    objects = objects_of(meta, source, known_hosts=())
    secrets = [Planned(Stage.CONTENT, each) for each in objects[:-1]]
    needs = tuple(each.key for each in secrets)
    return [*secrets, *(Planned(Stage.CONTENT, each, needs=needs) for each in objects[-1:])]
