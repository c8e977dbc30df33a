"""Sources of every kind of Flux's source-controller. Source: https://fluxcd.io/flux/components/source/"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE, MISSING, NOT_A, ONLY_ONE, TWICE, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Passed, Section
from flux_tenancy.components.config.types import (
    DnsLabel,
    Duration,
    SecretText,
    TenantName,
    WebUrl,
    checked_by,
    has_plain_host,
    secret,
    unusable_url,
    url_of,
    url_parts,
)
from flux_tenancy.components.git.config import (
    ACCOUNT_WITHOUT_PROVIDER,
    SOURCE_REFERENCE,
    CloudProvider,
    GitSource,
    SignerName,
    check_login,
)
from flux_tenancy.components.keys import armor
from flux_tenancy.components.keys.signing_keys import CertificateAuthority, ClientKey, CosignPublicKey, KeylessSigner
from flux_tenancy.components.vocabulary.names import BUCKET, HELM_REPOSITORY, OCI_REPOSITORY

HTTPS = "https://"


def _endpoint(value: str) -> str:
    """`host[:port]`, or the same with https:// for Azure."""
    example = "s3.example.com, minio.example.com:9000 or, for azure, https://account.blob.core.windows.net"
    url = url_parts(HTTPS + value.removeprefix(HTTPS), ("https",), example)
    if not has_plain_host(url) or url.path.strip("/") or url.query or url.fragment:
        raise unusable_url(value, NOT_A(what="the endpoint of an object store", example=f"{example}, without a path"))
    return value.removesuffix("/")


ChartUrl = Annotated[
    str,
    *url_of(
        "http",
        "https",
        "oci",
        example="https://charts.example.com or oci://registry.example.com/charts",
        description="http, https or oci URL of a chart repository, without credentials",
    ),
]
ArtifactUrl = Annotated[
    str,
    *url_of("oci", example="oci://registry.example.com/org/manifests", description="oci URL without tag and digest"),
]
Endpoint = Annotated[str, *checked_by(_endpoint, "host and port of an object store")]


_DOCKER_HUB = "index.docker.io"


def registry_of(url: str) -> str:
    """The registry in the URL of an OCI repository, as its login is looked up, e.g. `registry.example.com:5000`.

    Source: Resolve in pkg/authn/kubernetes of github.com/google/go-containerregistry, which source-controller uses
    """
    registry = urlsplit(url).netloc
    return _DOCKER_HUB if registry == "docker.io" else registry


def docker_config(registry: str, username: str, password: str) -> str:
    """The login of one registry."""
    return json.dumps({"auths": {registry: {"username": username, "password": password}}})


def read_docker_config(text: str) -> str:
    """The content of a Docker config.json with at least one login.

    Source: https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets

    Raises:
        ValueError: the text is anything else; the message contains nothing of it.
    """
    try:
        logins = json.loads(text)["auths"].values()
        has_login = any(isinstance(login, dict) and login for login in logins)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        has_login = False
    if not has_login:
        raise ValueError(
            armor.NOT_A_KEY(
                what="the content of a Docker config.json with auths",
                instead="what `docker login` writes, or username and password",
            )
        )
    return text


DockerConfig = Annotated[SecretStr, *secret(read_docker_config, "secret content of a Docker config.json")]

_OCI = "oci://"


class ClientCertificate(Section):
    """A certificate that source-controller uses to log in to the server."""

    certificate: CertificateAuthority = Field(description="The certificate, then those of its authorities.")
    private_key: ClientKey = Field(description="Its private key, without a passphrase.")


class Proxy(Section):
    """An HTTP proxy, which the admission policy `source-options` refuses unless the policy is off."""

    address: WebUrl = Field(description="URL of the proxy, e.g. `http://proxy.example.com:3128`.")
    username: str | None = Field(None, min_length=1, description="User name for the proxy.")
    password: SecretText | None = Field(None, description="Password for the proxy.")

    @model_validator(mode="after")
    def _whole_login(self) -> Proxy:
        if (self.username is None) != (self.password is None):
            raise MisplacedValueError(("username" if self.username is None else "password",), MISSING())
        return self


class _Fetched(Passed):
    """What sources of all kinds but Git have in common."""

    api_reference = SOURCE_REFERENCE
    owned: ClassVar[Mapping[str, str]] = {
        "accessFrom": "offer it to other tenants with `shared`",
        "certSecretRef": "set certificateAuthority or clientCertificate",
        "proxySecretRef": "set proxy",
        "secretRef": "set credentials",
    }

    interval: Duration = Field("5m", description="How often to check for a new revision.")
    timeout: Duration = Field("60s", description="How long a fetch may take.")
    suspend: bool = Field(False, description="Stop fetching; the last fetched revision stays in use.")
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Authority of the server's certificate."
    )
    client_certificate: ClientCertificate | None = Field(None, description="Certificate to log in with.")


class GitRepositorySource(GitSource):
    """A Git repository, with the keys of `source`. Source: https://fluxcd.io/flux/components/source/gitrepositories/"""

    kind: Literal["GitRepository"] = Field(description="The kind of source.")

    removed_keys: ClassVar = {}


class ChartCredentials(Section):
    """Login at a chart repository."""

    username: str = Field(min_length=1, description="User name.")
    password: SecretText = Field(description="Password or token, with only read access.")


class HelmRepositorySource(_Fetched):
    """A repository of Helm charts. Source: https://fluxcd.io/flux/components/source/helmrepositories/"""

    kind_of_object = HELM_REPOSITORY
    owned = {**_Fetched.owned, "type": "write an oci:// URL"}
    kind: Literal["HelmRepository"] = Field(description="The kind of source.")
    url: ChartUrl = Field(description="URL of the repository's index, or `oci://` URL of the registry.")
    credentials: ChartCredentials | None = Field(None, description="Login, if the repository is private.")
    insecure: bool = Field(False, description="With `oci://`, connect without TLS; needs `policies.sources.plainHttp`.")

    @property
    def is_oci(self) -> bool:
        return self.url.startswith(_OCI)


class RegistryCredentials(Section):
    """Login at a container registry."""

    username: str | None = Field(None, min_length=1, description="User name.")
    password: SecretText | None = Field(None, description="Password or token, with only pull access.")
    docker_config: DockerConfig | None = Field(
        None, description="Docker config.json with `auths`, instead of `username` and `password`."
    )

    @model_validator(mode="after")
    def _one_login(self) -> RegistryCredentials:
        pair = {self.username is not None, self.password is not None}
        if len(pair) > 1 or pair == {self.docker_config is not None}:
            raise ValueError(EXACTLY_ONE(keys="dockerConfig, and username with password"))
        return self


class ArtifactVerification(Section):
    """Required signatures. Source: https://fluxcd.io/flux/components/source/ocirepositories/#verification"""

    provider: Literal["cosign"] = Field("cosign", description="Tool that signed the artifact.")
    keys: dict[SignerName, CosignPublicKey] = Field(
        default_factory=dict,
        description="Public keys, the content of cosign.pub, by the name of the signer; one is enough.",
    )
    keyless: KeylessSigner | None = Field(
        None, description="Identity of the signer, instead of keys; source-controller reads Sigstore's public services."
    )

    @model_validator(mode="after")
    def _one_signer(self) -> ArtifactVerification:
        if bool(self.keys) == (self.keyless is not None):
            raise ValueError(EXACTLY_ONE(keys="keys and keyless"))
        return self


class OCIRepositorySource(_Fetched):
    """Manifests or a chart as an artifact. Source: https://fluxcd.io/flux/components/source/ocirepositories/"""

    kind_of_object = OCI_REPOSITORY
    kind: Literal["OCIRepository"] = Field(description="The kind of source.")
    url: ArtifactUrl = Field(description="URL of the artifact's repository.")
    layer_selector: dict[str, Any] | None = Field(
        None, description="Which of its layers to use, and whether to `extract` (default) or `copy` it (`operation`)."
    )
    verify: ArtifactVerification | None = Field(
        None, description="Reconcile only content that is signed by one of these signers."
    )
    credentials: RegistryCredentials | None = Field(None, description="Login, if the repository is private.")
    provider: CloudProvider | None = Field(
        None, description="Log in to a cloud's registry as `serviceAccountName`; needs `policies.sources.providers`."
    )
    service_account_name: DnsLabel | None = Field(
        None, description="Service account in the tenant's home, annotated with its identity in the cloud."
    )
    insecure: bool = Field(False, description="Connect without TLS; needs `policies.sources.plainHttp`.")
    proxy: Proxy | None = Field(None, description="HTTP proxy to the registry.")

    @model_validator(mode="after")
    def _login_fits(self) -> OCIRepositorySource:
        check_login(self.provider, self.service_account_name, "credentials" if self.credentials is not None else None)
        return self


class BucketCredentials(Section):
    """Login at an object store: those of its provider."""

    access_key: str | None = Field(None, min_length=1, description="generic and aws: id of the access key.")
    secret_key: SecretText | None = Field(None, description="generic and aws: the secret access key.")
    service_account_key: SecretText | None = Field(None, description="gcp: the JSON key of a service account.")
    account_key: SecretText | None = Field(None, description="azure: key of the storage account.")
    sas_key: SecretText | None = Field(None, description="azure: a SAS token, instead of the account's key.")


class BucketSource(_Fetched):
    """Objects of a bucket. Source: https://fluxcd.io/flux/components/source/buckets/"""

    kind_of_object = BUCKET
    kind: Literal["Bucket"] = Field(description="The kind of source.")
    bucket_name: str = Field(min_length=1, description="Name of the bucket.")
    endpoint: Endpoint = Field(description="Host and port of the object store; for azure, its https:// URL.")
    region: str | None = Field(None, min_length=1, description="Region of the bucket.")
    provider: Literal["generic", "aws", "azure", "gcp"] = Field(
        "generic",
        description="`generic` for S3-compatible stores; those of clouds need `policies.sources.providers` and "
        "`serviceAccountName` or `credentials`.",
    )
    credentials: BucketCredentials | None = Field(None, description="Login of the object store.")
    service_account_name: DnsLabel | None = Field(
        None, description="Service account in the tenant's home, annotated with its identity in the cloud."
    )
    insecure: bool = Field(False, description="Connect without TLS; needs `policies.sources.plainHttp`.")
    proxy: Proxy | None = Field(None, description="HTTP proxy to the object store.")

    @property
    def logs_in(self) -> bool:
        """Whether the source has a login of its own."""
        return (self.service_account_name or self.credentials) is not None

    @model_validator(mode="after")
    def _login_fits(self) -> BucketSource:
        if self.service_account_name is not None:
            if self.provider == "generic":
                raise MisplacedValueError(("serviceAccountName",), ACCOUNT_WITHOUT_PROVIDER)
            if self.credentials is not None:
                raise MisplacedValueError(("credentials",), ONLY_ONE(keys="credentials and serviceAccountName"))
        return self


class ExternalArtifactSource(Section):
    """An artifact of another controller in the tenant's home, such as source-watcher; the stack creates nothing.

    Source: https://fluxcd.io/flux/components/source/externalartifacts/
    """

    kind: Literal["ExternalArtifact"] = Field(description="The kind of source.")
    name: DnsLabel | None = Field(None, description="Name of the artifact; defaults to that of the source.")


Source = Annotated[
    GitRepositorySource | OCIRepositorySource | HelmRepositorySource | BucketSource | ExternalArtifactSource,
    Field(discriminator="kind"),
]
"""A source of any kind."""


def has_certificates(source: Section) -> bool:
    """Whether the source has certificates of its own; those of a Git repository are part of its credentials."""
    return isinstance(source, _Fetched) and (source.certificate_authority or source.client_certificate) is not None


def has_status(source: Section) -> bool:
    """Whether Flux reports on a source: not on one of charts in a registry, which it reads with each chart."""
    return not isinstance(source, ExternalArtifactSource) and not (
        isinstance(source, HelmRepositorySource) and source.is_oci
    )


class SharedSource(Section):
    """A source that is offered to tenants, each of which gets a copy in its home (docs/syncs.md#sources)."""

    tenants: tuple[TenantName, ...] = Field(description="Tenants that may use the source.")
    source: Source = Field(description="The source; each of these tenants can read its credentials.")

    @model_validator(mode="after")
    def _each_tenant_once(self) -> SharedSource:
        for index, tenant in enumerate(self.tenants):
            if tenant in self.tenants[:index]:
                raise MisplacedValueError(("tenants", index), TWICE(what=tenant))
        return self

    @model_validator(mode="after")
    def _nothing_registered(self) -> SharedSource:
        if isinstance(self.source, GitRepositorySource):
            for key, value in {"github": self.source.github, "webhook": self.source.webhook}.items():
                if value is not None:
                    raise MisplacedValueError(
                        ("source", key),
                        Message(
                            "FT-SRC-046",
                            "cannot be set for a shared source, which has an object for each tenant",
                            "remove it",
                        ),
                    )
        return self
