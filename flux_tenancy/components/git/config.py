"""Git sources: where manifests come from, credentials, signatures, and webhooks; and all those of a stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from flux_tenancy.components.config.errors import (
    EXACTLY_ONE,
    MISSING,
    NO_EFFECT,
    NOT_A,
    ONLY_ONE,
    TWICE,
    MisplacedValueError,
)
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Passed, Section
from flux_tenancy.components.config.types import DnsLabel, Duration, SecretText, WebUrl, matching, url_of
from flux_tenancy.components.keys.known_hosts import KnownHost
from flux_tenancy.components.keys.signing_keys import CertificateAuthority, RsaPrivateKey, SigningKey
from flux_tenancy.components.keys.ssh_keys import SshPrivateKey
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, PLATFORM_META

SOURCE_REFERENCE = "https://fluxcd.io/flux/components/source/api/v1/"
"""Where Flux lists the fields of its sources."""
GIT_REFERENCE = r"^(?!/)(?!.*(//|\.\.|@\{|[\x00-\x20~^:?*\[\\]))[^-].*(?<![/.])$|^[A-Za-z0-9]$"
# The names of enterprise-managed users end in an underscore and the enterprise's short code.
_GITHUB_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"


GitReference = Annotated[
    str, *matching(GIT_REFERENCE, NOT_A(what="a branch or tag name that Git accepts", example="main"))
]
GitUrl = Annotated[
    str,
    *url_of(
        "http",
        "https",
        "ssh",
        example="https://git.example.com/team/repository or ssh://git@git.example.com/team/repository",
        description="http, https or ssh URL of a Git repository, without credentials",
    ),
]
SignerName = Annotated[
    str,
    *matching(
        r"^[-._A-Za-z0-9]{1,200}$",
        NOT_A(what="the name of a signer", example="jane.doe, with letters, digits, dashes, underscores and dots"),
    ),
]
GitHubName = Annotated[
    str,
    *matching(
        f"^{_GITHUB_NAME}$",
        NOT_A(
            what="a GitHub organization or user",
            example="my-org, with at most 39 letters, digits, dashes and underscores",
        ),
    ),
]
GitHubRepositoryName = Annotated[
    str,
    *matching(
        rf"^{_GITHUB_NAME}/(?!\.{{1,2}}$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$",
        NOT_A(what="a GitHub repository", example="my-org/my-repository"),
    ),
]


CloudProvider = Literal["aws", "azure", "gcp"]
NO_PROVIDER_ACCOUNT = Wording(
    "FT-SRC-026",
    "is {provider}, which requires a login of the tenant",
    "set serviceAccountName to an account that is annotated with its cloud identity, or credentials",
)
ACCOUNT_WITHOUT_PROVIDER = NO_EFFECT(
    reason="it is used only to log in to a cloud", remedy="remove it, or set provider to aws, azure or gcp"
)


def check_login(provider: str | None, account: str | None, credentials: str | None) -> None:
    """Check what a source logs in with. Raises MisplacedValueError: these do not go together."""
    if provider is not None and account is None:
        raise MisplacedValueError(("provider",), NO_PROVIDER_ACCOUNT(provider=provider))
    if provider is None and account is not None:
        raise MisplacedValueError(("serviceAccountName",), ACCOUNT_WITHOUT_PROVIDER)
    if account is not None and credentials is not None:
        raise MisplacedValueError((credentials,), ONLY_ONE(keys=f"{credentials} and serviceAccountName"))


class HttpsCredentials(Section):
    """Credentials for a Git host over HTTPS."""

    username: str | None = Field(None, description="User name, which GitHub and GitLab ignore; defaults to `git`.")
    password: SecretText | None = Field(
        None, description="Password or token, with only read access to this repository."
    )
    bearer_token: SecretText | None = Field(
        None, description="Token for a host that expects a bearer token, e.g. Bitbucket Data Center."
    )

    @model_validator(mode="after")
    def _one_secret(self) -> HttpsCredentials:
        if (self.password is None) == (self.bearer_token is None):
            raise ValueError(EXACTLY_ONE(keys="password (which may be a token) and bearerToken"))
        if self.bearer_token is not None and self.username is not None:
            raise ValueError(ONLY_ONE(keys="username and bearerToken"))
        return self


class GitHubAppCredentials(Section):
    """A GitHub App and its installation. Source: https://fluxcd.io/flux/components/source/gitrepositories/#github"""

    app_id: int = Field(gt=0, description="Id of the App.")
    installation_id: int | None = Field(None, gt=0, description="Id of its installation.")
    installation_owner: GitHubName | None = Field(
        None, description="Organization or user that installed it, instead of the installation's id."
    )
    private_key: RsaPrivateKey = Field(description="Private key of the App, as downloaded from GitHub.")
    base_url: WebUrl | None = Field(None, description="API of a GitHub Enterprise Server.")

    @model_validator(mode="after")
    def _one_installation(self) -> GitHubAppCredentials:
        if (self.installation_id is None) == (self.installation_owner is None):
            raise ValueError(EXACTLY_ONE(keys="installationId and installationOwner"))
        return self


class GitHubRepository(Section):
    """The repository on GitHub, where the program registers the deploy key and the webhook."""

    repository: GitHubRepositoryName = Field(description="`owner/name`, on the server `github.baseUrl`.")

    removed_keys: ClassVar = {"readOnly": "a deploy key can only read"}

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]


class Webhook(Section):
    """A Receiver for this source, which fetches each push at once.

    Source: https://fluxcd.io/flux/components/notification/receivers/
    """

    type: Literal["github", "gitlab", "bitbucket", "generic-hmac"] = Field(
        "github",
        description=(
            "How the Git host signs its calls. Without `github.repository`, register the webhook with the "
            "URL in the stack's outputs and the token in the Receiver's Secret."
        ),
    )


class CommitVerification(Section):
    """Required signatures. Source: https://fluxcd.io/flux/components/source/gitrepositories/#verification"""

    mode: Literal["HEAD", "Tag", "TagAndHEAD"] = Field(
        "HEAD", description="What must be signed: the commit, the tag, or both."
    )
    keys: dict[SignerName, SigningKey] = Field(
        min_length=1,
        description="OpenPGP public keys, armored, or SSH public keys, by the name of the signer; one is enough.",
    )


class GitSource(Passed):
    """A Git repository. Source: https://fluxcd.io/flux/components/source/gitrepositories/"""

    url: GitUrl = Field(description="URL from which the cluster fetches the repository.")
    branch: GitReference | None = Field(
        None, description="Branch to follow; defaults to `main` if no other reference is set."
    )
    tag: GitReference | None = Field(None, description="Tag to use, instead of a branch.")
    semver: str | None = Field(None, min_length=1, description="Range of tags to follow, e.g. `>=1.2.0 <2.0.0`.")
    commit: str | None = Field(None, min_length=1, description="Commit to use; can be combined with branch.")
    interval: Duration = Field("1m", description="How often to look for new commits.")
    timeout: Duration = Field("60s", description="How long a fetch may take.")
    suspend: bool = Field(False, description="Stop fetching; the last fetched revision stays in use.")
    deploy_key: SshPrivateKey | None = Field(
        None,
        description=(
            "Private SSH key without a passphrase: ed25519, ECDSA P-384, or RSA of at least 3072 bits. "
            "`flux-tenancy key deploy` creates one."
        ),
    )
    https: HttpsCredentials | None = Field(None, description="User name and password, or token, instead of a key.")
    github_app: GitHubAppCredentials | None = Field(None, description="A GitHub App, instead of a key.")
    provider: CloudProvider | None = Field(
        None, description="Log in to a cloud's Git host as `serviceAccountName`; needs `policies.sources.providers`."
    )
    service_account_name: DnsLabel | None = Field(
        None, description="Service account in the source's namespace, annotated with its identity in the cloud."
    )
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Authority of the Git host's certificate."
    )
    github: GitHubRepository | None = Field(
        None, description="The repository on GitHub, to register the deploy key and the webhook."
    )
    webhook: Webhook | None = Field(None, description="Fetch each push at once, by a Receiver; `{}` for GitHub.")
    verify: CommitVerification | None = Field(None, description="Reconcile only content signed by one of these keys.")

    kind_of_object = GIT_REPOSITORY
    api_reference = SOURCE_REFERENCE
    owned: ClassVar[Mapping[str, str]] = {
        "ref": "set branch, tag, semver or commit",
        "secretRef": "set deployKey, https or githubApp",
    }
    removed_keys: ClassVar = {"kind": "this source is always a GitRepository"}

    @model_validator(mode="after")
    def _credentials_fit(self) -> GitSource:
        fields = {"deployKey": self.deploy_key, "https": self.https, "githubApp": self.github_app}
        given = [key for key, value in fields.items() if value is not None]
        scheme = urlsplit(self.url).scheme
        check_login(self.provider, self.service_account_name, next(iter(given), None))
        if len(given) > 1:
            raise ValueError(ONLY_ONE(keys=f"{' and '.join(given)}, but a source has only one login"))
        if scheme == "ssh" and not given:
            raise MisplacedValueError(
                ("url",),
                Message(
                    "FT-CFG-266",
                    "begins with ssh://, which needs a deployKey",
                    "create one with `flux-tenancy key deploy`; for one of `sources` or `shared`, store a private key "
                    "at its deployKey with `pulumi config set --secret --path`",
                ),
            )
        if given and scheme != ("ssh" if given == ["deployKey"] else "https"):
            wanted = "ssh://git@" if given == ["deployKey"] else "https://"
            raise MisplacedValueError(
                ("url",),
                Message(
                    "FT-CFG-268",
                    f"begins with {scheme}://, but {given[0]} needs {wanted}",
                    "change the URL or the credentials",
                ),
            )
        return self

    @model_validator(mode="after")
    def _registered_where(self) -> GitSource:
        if self.github is not None and self.webhook is not None and self.webhook.type != "github":
            raise MisplacedValueError(
                ("webhook", "type"), Message("FT-CFG-271", "must be github where github.repository is set")
            )
        if self.github is not None and self.deploy_key is None and self.webhook is None:
            raise MisplacedValueError(
                ("github",),
                NO_EFFECT(reason="the source has neither a deployKey nor a webhook", remedy="remove it, or add one"),
            )
        return self


class GitConfig(Section):
    """Host keys of Git hosts."""

    known_hosts: tuple[KnownHost, ...] = Field(
        (),
        description=(
            "Lines of an SSH `known_hosts` file; those of github.com, gitlab.com or bitbucket.org replace "
            "the built-in keys."
        ),
    )
    known_hosts_file: str | None = Field(None, description="Path of a file with more such lines.")


class GitHubOwner(Section):
    """The program's credentials for the repositories of a GitHub organization or user."""

    token: SecretText | None = Field(
        None,
        description=(
            "Token that may administer these repositories (fine-grained: Administration and Webhooks, read and write)."
        ),
    )
    app: GitHubAppCredentials | None = Field(None, description="An App with these rights, instead of the token.")

    @model_validator(mode="after")
    def _one_identity(self) -> GitHubOwner:
        if self.token is not None and self.app is not None:
            raise ValueError(ONLY_ONE(keys="token and app"))
        if self.app is not None and self.app.installation_id is None:
            raise MisplacedValueError(("app", "installationId"), MISSING())
        return self


class GitHubConfig(Section):
    """GitHub, where deploy keys and webhooks are registered."""

    base_url: WebUrl = Field("https://api.github.com/", description="API of GitHub, or a GitHub Enterprise Server.")
    owners: dict[GitHubName, GitHubOwner] = Field(
        default_factory=dict,
        description=(
            "Organizations and users with their own credentials; others, and `{}`, use the environment's "
            "`GITHUB_TOKEN`."
        ),
    )

    def identity(self, owner: str) -> GitHubOwner:
        """The credentials for an owner's repositories, listed or not; GitHub's names are case-insensitive."""
        return next((each for name, each in self.owners.items() if name.lower() == owner.lower()), GitHubOwner())

    def credentials(self, owner: str) -> str:
        """The setting with the credentials for an owner's repositories: what to correct if GitHub refuses."""
        identity = self.identity(owner)
        if identity.app is not None:
            return f"github.owners.{owner}.app"
        return f"github.owners.{owner}.token" if identity.token is not None else "GITHUB_TOKEN"

    @field_validator("owners")
    @classmethod
    def _each_once(cls, owners: dict[str, GitHubOwner]) -> dict[str, GitHubOwner]:
        seen: dict[str, str] = {}
        for owner in owners:
            if seen.setdefault(owner.lower(), owner) != owner:
                raise ValueError(TWICE(what=f"{seen[owner.lower()]} (also as {owner})"))
        return owners


WEBHOOK_ROOT = "/hook/"
"""The beginning of the paths of all Receivers."""


@dataclass(frozen=True)
class Sources:
    """The Git sources of a stack.

    Attributes:
        by_name: each source by the prefix of its objects' names: a tenant's name, that of the platform's own sync, or
            `tenant.source` for a tenant's further ones.
        homes: the namespace of each source's objects, by the same name.
        github: GitHub, where deploy keys and webhooks are registered.
        known_hosts: host keys of Git hosts, as lines of an SSH `known_hosts` file.
        webhook_url: where Git hosts reach this cluster's Receivers, or None.
    """

    by_name: Mapping[str, GitSource] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    github: GitHubConfig = field(default_factory=GitHubConfig)
    known_hosts: Sequence[str] = ()
    webhook_url: str | None = None

    @property
    def github_owners(self) -> set[str]:
        """The organizations and users whose repositories something is registered in."""
        return {source.github.owner for source in self.by_name.values() if source.github is not None}


def github_key_path(name: str) -> str:
    """The key in the stack file that names a source's repository at GitHub, e.g. `tenants.shop.source.github`."""
    if name == PLATFORM_META.name:
        return "flux.sync.source.github"
    tenant, _, source = name.partition(".")
    return f"tenants.{tenant}.sources.{source}.github" if source else f"tenants.{tenant}.source.github"


def object_name(name: str) -> str:
    """The name of a source's GitRepository."""
    return name.rpartition(".")[2]


def repository_in(url: str) -> str:
    """The repository in a URL, in lower case and independent of host and scheme."""
    return urlsplit(url).path.strip("/").removesuffix(".git").lower()
