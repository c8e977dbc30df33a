"""Git sources: where manifests come from, who may read them, who has signed them, and how a push is made known."""

from __future__ import annotations

from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.config.types import Duration, SecretText, WebUrl
from components.git.types import GitCommit, GitHubName, GitHubRepositoryName, GitReference, GitUrl, SignerName
from components.keys.types import CertificateAuthority, KnownHost, RsaPrivateKey, SigningKey, SshPrivateKey


class HttpsCredentials(Section):
    """How to log in to a Git host over HTTPS."""

    username: str | None = Field(None, description="User name; for GitHub and GitLab any, `git` where left out.")
    password: SecretText | None = Field(
        None, description="Password, or a token in its place; one that may only read this repository."
    )
    bearer_token: SecretText | None = Field(
        None, description="Token for a host that takes it as a bearer token, e.g. Bitbucket Data Center."
    )

    @model_validator(mode="after")
    def _one_secret(self) -> HttpsCredentials:
        if (self.password is None) == (self.bearer_token is None):
            raise ValueError("needs exactly one of password (which may be a token) and bearerToken")
        if self.bearer_token is not None and self.username is not None:
            raise ValueError("has a username, which does not go with a bearerToken; use password")
        return self


class GitHubAppCredentials(Section):
    """A GitHub App and where it is installed.

    Source: https://fluxcd.io/flux/components/source/gitrepositories/#github
    """

    app_id: int = Field(gt=0, description="Id of the App.")
    installation_id: int | None = Field(None, gt=0, description="Id of its installation.")
    installation_owner: GitHubName | None = Field(
        None, description="Organisation or user that has installed it, in place of the installation's id."
    )
    private_key: RsaPrivateKey = Field(description="Private key of the App, as GitHub hands it out.")
    base_url: WebUrl | None = Field(None, description="API of a GitHub Enterprise Server.")

    @model_validator(mode="after")
    def _one_installation(self) -> GitHubAppCredentials:
        if (self.installation_id is None) == (self.installation_owner is None):
            raise ValueError("needs exactly one of installationId and installationOwner")
        return self


class GitHubRepository(Section):
    """The repository at GitHub, to which the program itself adds the deploy key and the webhook."""

    repository: GitHubRepositoryName = Field(description="`owner/name`, at the server `github.baseUrl`.")

    removed_keys: ClassVar = {"readOnly": "a deploy key can only read"}

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]


class Webhook(Section):
    """A Receiver for this source, so that a push is fetched at once and not at the next interval.

    Source: https://fluxcd.io/flux/components/notification/receivers/
    """

    type: Literal["github", "gitlab", "bitbucket", "generic-hmac"] = Field(
        "github",
        description="How the Git host signs its calls. Where `github.repository` is named, the webhook is registered "
        "there; elsewhere somebody has to, with the URL in the stack's outputs and the token in the Receiver's Secret.",
    )


class CommitVerification(Section):
    """Whose signatures are asked for. Source: https://fluxcd.io/flux/components/source/gitrepositories/#verification"""

    mode: Literal["HEAD", "Tag", "TagAndHEAD"] = Field(
        "HEAD", description="What must be signed: the commit, the tag that is followed, or both."
    )
    keys: dict[SignerName, SigningKey] = Field(
        min_length=1,
        description="OpenPGP public keys, armored, or SSH public keys, by the name of who signs; each is enough.",
    )


class GitSource(Section):
    """A Git repository. Source: https://fluxcd.io/flux/components/source/gitrepositories/"""

    url: GitUrl = Field(description="Where the cluster fetches the repository from.")
    branch: GitReference | None = Field(None, description="Branch to follow; `main` where no reference is given.")
    tag: GitReference | None = Field(None, description="Tag to stay at, instead of a branch.")
    semver: str | None = Field(None, description="Range of tags to follow, e.g. `>=1.2.0 <2.0.0`.")
    commit: GitCommit | None = Field(None, description="Commit to stay at; may go with branch.")
    interval: Duration = Field("1m", description="How often to look for new commits.")
    timeout: Duration = Field("60s", description="How long a fetch may take.")
    deploy_key: SshPrivateKey | None = Field(
        None,
        description="Private SSH key that may read the repository, without a passphrase: ed25519, ECDSA P-384, or RSA "
        "from 3072 bits; `make deploy-key` makes one.",
    )
    https: HttpsCredentials | None = Field(None, description="User name and password, or token, in place of a key.")
    github_app: GitHubAppCredentials | None = Field(None, description="A GitHub App, in place of a key.")
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Certificate, PEM, of the authority that the Git host's own one comes from."
    )
    github: GitHubRepository | None = Field(None, description="The repository at GitHub, for its key and webhook.")
    webhook: Webhook | None = Field(None, description="Fetch at once what is pushed; `{}` for GitHub.")
    verify: CommitVerification | None = Field(None, description="Reconcile only what is signed by one of these.")

    removed_keys: ClassVar = {"kind": "every source is a GitRepository"}

    @model_validator(mode="after")
    def _one_reference(self) -> GitSource:
        given = [name for name in ("branch", "tag", "semver") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"follows {' and '.join(given)} at once; keep one of them")
        return self

    @model_validator(mode="after")
    def _credentials_fit(self) -> GitSource:
        fields = {"deployKey": self.deploy_key, "https": self.https, "githubApp": self.github_app}
        given = [key for key, value in fields.items() if value is not None]
        scheme = urlsplit(self.url).scheme
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}; keep one of them")
        if scheme == "ssh" and given != ["deployKey"]:
            remedy = "use an https:// URL with it" if given else "`make deploy-key` makes one"
            raise MisplacedValueError(
                ("url",), f"begins with ssh://, which takes a deployKey and nothing else; {remedy}"
            )
        if given and scheme != ("ssh" if given == ["deployKey"] else "https"):
            wanted = "ssh://git@" if given == ["deployKey"] else "https://"
            raise MisplacedValueError(("url",), f"begins with {scheme}://, but {given[0]} goes with {wanted}")
        if self.certificate_authority is not None and scheme != "https":
            raise MisplacedValueError(("certificateAuthority",), "is of use only with an https:// URL")
        return self

    @model_validator(mode="after")
    def _tag_to_verify(self) -> GitSource:
        wants_tag = self.verify is not None and self.verify.mode != "HEAD"
        if wants_tag and self.tag is None and self.semver is None:
            raise MisplacedValueError(("verify", "mode"), "asks for a signed tag, but the source follows none")
        return self

    @model_validator(mode="after")
    def _registered_where(self) -> GitSource:
        if self.github is not None and self.webhook is not None and self.webhook.type != "github":
            raise MisplacedValueError(("webhook", "type"), "must be github, where github.repository is")
        if self.github is not None and self.deploy_key is None and self.webhook is None:
            raise MisplacedValueError(
                ("github",), "has nothing to register there: the source has neither a deployKey nor a webhook"
            )
        return self


class GitConfig(Section):
    """What the stack knows of Git hosts."""

    known_hosts: tuple[KnownHost, ...] = Field(
        (),
        description="Host keys of Git hosts, as lines of an SSH `known_hosts` file. Those of github.com, gitlab.com "
        "and bitbucket.org are known; lines for one of them replace those.",
    )
    known_hosts_file: str | None = Field(
        None, description="Path of a file with more such lines; relative paths start at the project."
    )


class GitHubOwner(Section):
    """Who the program is to GitHub when it works in the repositories of an organisation or a user."""

    token: SecretText | None = Field(
        None,
        description="Token that may administer these repositories (fine-grained: Administration and Webhooks, read and "
        "write); the environment's `GITHUB_TOKEN` where there is neither a token nor an App.",
    )
    app: GitHubAppCredentials | None = Field(None, description="An App with these rights, in place of the token.")

    @model_validator(mode="after")
    def _one_identity(self) -> GitHubOwner:
        if self.token is not None and self.app is not None:
            raise ValueError("has token and app; keep one of them")
        if self.app is not None and self.app.installation_id is None:
            raise MisplacedValueError(("app", "installationId"), "is required here")
        return self


class GitHubConfig(Section):
    """GitHub, where deploy keys and webhooks are registered."""

    base_url: WebUrl = Field("https://api.github.com/", description="API of GitHub, or a GitHub Enterprise Server.")
    owners: dict[GitHubName, GitHubOwner] = Field(
        default_factory=dict,
        description="Organisations and users with credentials of their own. For the others, and for `{}`, keys and "
        "webhooks are registered with the environment's `GITHUB_TOKEN`.",
    )

    def identity(self, owner: str) -> GitHubOwner:
        """Who the program is in the repositories of an owner, listed or not; GitHub does not tell capital letters."""
        return next((each for name, each in self.owners.items() if name.lower() == owner.lower()), GitHubOwner())

    @field_validator("owners")
    @classmethod
    def _each_once(cls, owners: dict[str, GitHubOwner]) -> dict[str, GitHubOwner]:
        seen: dict[str, str] = {}
        for owner in owners:
            if seen.setdefault(owner.lower(), owner) != owner:
                raise ValueError(f"lists {seen[owner.lower()]} and {owner}, which are one to GitHub; keep one of them")
        return owners
