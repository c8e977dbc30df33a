"""GitHub: the providers with the program's credentials, and the deploy keys and webhooks that it registers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pulumi

from flux_tenancy.components.git.config import GitHubConfig
from flux_tenancy.components.keys.ssh_keys import SshKey, read_private_key

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.git.config import GitHubRepository, GitSource

DEPLOY_KEY_TYPE = "github:index/repositoryDeployKey:RepositoryDeployKey"
WEBHOOK_TYPE = "github:index/repositoryWebhook:RepositoryWebhook"
PROVIDER_TYPE = "pulumi:providers:github"
GITHUB_TYPE = "flux-tenancy:index:GitHub"
"""Type token of the component."""
ALL = "**github:**"
"""Pattern of the providers and all that they register, for the engine's `--exclude`."""

FORGOTTEN = "forgotten/"
"""Prefix of the names of what the next update only takes out of the state; no source has such a name."""

WORKERS = 8
"""How many requests are made at GitHub at the same time."""

_Asked = TypeVar("_Asked", bound=Hashable)
_Answer = TypeVar("_Answer")


def answers(ask: Callable[[_Asked], _Answer], asked: Iterable[_Asked]) -> dict[_Asked, _Answer]:
    """The answer to each request, of which `WORKERS` are made at the same time."""
    asked = list(asked)
    with ThreadPoolExecutor(WORKERS) as pool:
        return dict(zip(asked, pool.map(ask, asked), strict=True))


Registration = tuple[str, str]
"""Type and name of the resource of a deploy key or webhook."""

# `*` would not do: the engine takes it for the inputs, and the provider would still see what a refresh has found.
_INPUTS = {
    DEPLOY_KEY_TYPE: ["key", "readOnly", "repository", "title"],
    WEBHOOK_TYPE: ["active", "configuration", "events", "repository"],
}


@dataclass(frozen=True)
class RegisteredKey:
    """A deploy key with the properties that it is registered with.

    Attributes:
        repository: name of its repository, without the owner.
        public: the public half, as one line without a comment.
    """

    name: str
    repository: str
    title: str
    public: str


@dataclass(frozen=True)
class Gone:
    """What GitHub does not have any more.

    Attributes:
        urns: the URN of each deploy key and webhook in the state.
        github: GitHub with the credentials of all owners that something was registered for.
    """

    urns: Mapping[Registration, str] = field(default_factory=dict)
    github: GitHubConfig = field(default_factory=GitHubConfig)
    owners: frozenset[str] = frozenset()


NOTHING = Gone()


class GitHub(pulumi.ComponentResource):
    """The providers for GitHub: one for each organization or user, since each has its own credentials."""

    def __init__(self, name: str, config: GitHubConfig, owners: Iterable[str]) -> None:
        """Make the providers of the owners in whose repositories something is registered."""
        super().__init__(GITHUB_TYPE, name)
        # Importing the SDK takes time, which stacks without GitHub save.
        import pulumi_github

        self._providers = {}
        for owner in sorted({owner.lower() for owner in owners}):
            identity = config.identity(owner)
            app = identity.app
            self._providers[owner] = pulumi_github.Provider(
                f"{name}-{owner}",
                owner=owner,
                base_url=config.base_url,
                token=pulumi.Output.secret(identity.token.get_secret_value()) if identity.token else None,
                app_auth=pulumi_github.ProviderAppAuthArgs(
                    id=str(app.app_id),
                    installation_id=str(app.installation_id),
                    pem_file=pulumi.Output.secret(app.private_key.get_secret_value()),
                )
                if app
                else None,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})

    def deploy_key(
        self, key: RegisteredKey, repository: GitHubRepository, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """Register a deploy key, read-only, with exactly these properties: one of an earlier update shows no change."""
        import pulumi_github

        # The title has the name of the stack. GitHub can neither change it nor take the key a second time, so a key
        # keeps its title when the stack is renamed.
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["title"]))
        registered: pulumi.CustomResource = pulumi_github.RepositoryDeployKey(
            key.name,
            repository=key.repository,
            title=key.title,
            key=key.public,
            read_only=True,
            opts=self._with_provider(repository, opts),
        )
        return registered

    def webhook(
        self,
        name: str,
        url: pulumi.Input[str],
        token: pulumi.Input[str],
        repository: GitHubRepository,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.CustomResource:
        """Register a webhook that announces pushes."""
        import pulumi_github

        registered: pulumi.CustomResource = pulumi_github.RepositoryWebhook(
            name,
            repository=repository.name,
            active=True,
            events=["push"],
            configuration=pulumi_github.RepositoryWebhookConfigurationArgs(
                url=url, content_type="json", secret=token, insecure_ssl=False
            ),
            opts=self._with_provider(repository, opts),
        )
        return registered

    def forget(self, gone: Registration, urn: str) -> None:
        """Have the next update take a deploy key or webhook out of the state without deleting it at GitHub.

        Until then it is in the state as it was, under another name and free of what it depended on, so that its tenant
        can leave. All its inputs are ignored, so that nothing is changed at GitHub, and any provider will do.
        """
        kind, name = gone
        opts = pulumi.ResourceOptions(
            parent=self,
            provider=next(iter(self._providers.values())),
            aliases=[urn],
            ignore_changes=_INPUTS[kind],
            retain_on_delete=True,
        )
        pulumi.CustomResource(kind, f"{FORGOTTEN}{name}", {}, opts)

    def _with_provider(self, repository: GitHubRepository, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        provider = pulumi.ResourceOptions(provider=self._providers[repository.owner.lower()])
        return pulumi.ResourceOptions.merge(opts, provider)


def registrations(name: str, source: GitSource) -> set[Registration]:
    """What is registered at GitHub for a source."""
    if source.github is None:
        return set()
    wanted = {(DEPLOY_KEY_TYPE, deploy_key_name(name, key))} if (key := registered_key(source)) else set()
    if source.webhook:
        wanted.add((WEBHOOK_TYPE, name))
    return wanted


def registered_key(source: GitSource) -> SshKey | None:
    """The deploy key of a source that is registered at GitHub, or None if there is none."""
    if source.github is None or source.deploy_key is None:
        return None
    return read_private_key(source.deploy_key.get_secret_value())


def new_key(source: str, key: SshKey, repository: GitHubRepository) -> RegisteredKey:
    """A source's own deploy key. Another key has another name and title, so both can be registered at the same time."""
    # GitHub shows the same fingerprint, so an admin can see which key belongs to which environment.
    title = f"{key_title_prefix(pulumi.get_stack())}{source} {key.fingerprint}"
    return RegisteredKey(deploy_key_name(source, key), repository.name, title, key.public)


def deploy_key_name(source: str, key: SshKey) -> str:
    """Name of the resource of a source's deploy key, derived from the source and the key."""
    return f"{source}-{_key_id(key.public)}"


def key_title_prefix(stack: str) -> str:
    """Prefix of the titles of all deploy keys of a stack."""
    return f"flux-tenancy {stack}/"


def source_of_deploy_key(name: str) -> str:
    """The source that a resource with this name belongs to."""
    return name.rpartition("-")[0]


def recorded_keys(state: State) -> list[RegisteredKey]:
    """The deploy keys that earlier updates of this stack have registered."""
    outputs = {_key_id(public): each for each in state.outputs(DEPLOY_KEY_TYPE) if (public := _public(each))}
    return [
        RegisteredKey(name, found["repository"], found["title"], _public(found))
        for name in sorted(state.names(DEPLOY_KEY_TYPE))
        if (found := outputs.get(name.rpartition("-")[2])) is not None
    ]


def _public(outputs: Mapping[str, Any]) -> str:
    """The public key of a deploy key without the comment that a Git host may add."""
    return " ".join(str(outputs.get("key", "")).split()[:2])


def _key_id(public: str) -> str:
    return hashlib.sha256(public.encode()).hexdigest()[:10]
