"""Types of Flux's Providers: where each sends messages, and what it needs for that.

Source: notification-controller 1.9 (api/v1beta3/provider_types.go, internal/notifier, internal/server)
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

FIXED_ADDRESSES = {
    "bitbucket": "https://api.bitbucket.org",
    "telegram": "https://api.telegram.org",
}
"""Types that ignore the host of their address and post to a fixed one."""

DEFAULT_ADDRESSES = {"datadog": "https://api.datadoghq.com"}
"""Types with a default address."""

GIT_HOSTS = (
    "azuredevops",
    "bitbucketserver",
    "gitea",
    "giteapullrequestcomment",
    "github",
    "githubdispatch",
    "githubpullrequestcomment",
    "gitlab",
    "gitlabmergerequestcomment",
)
"""Types whose address is a repository, possibly an SSH URL; they use the API of the same host."""

NATS = ("nats",)

COMMIT_STATUSES = ("azuredevops", "bitbucket", "bitbucketserver", "gitea", "github", "gitlab")
"""Types that report on the commit that was applied; only events of Kustomizations always name it."""


class Address(StrEnum):
    """What the address of a type is."""

    URL = "url"
    """A URL that anybody may read, or one that is a credential."""
    CREDENTIAL = "credential"
    """A URL that lets everybody who knows it post messages."""
    REPOSITORY = "repository"
    """A repository; that of the sync by default."""
    NONE = "none"
    """Nothing: the host is fixed."""


@dataclass(frozen=True)
class ProviderType:
    """What a type of Provider needs.

    Attributes:
        address: what its address is.
        token: whether it needs a token.
        channel: whether it needs a channel.
        authority: whether it reads the certificate of an authority.
    """

    address: Address = Address.URL
    token: bool = False
    channel: bool = False
    authority: bool = True


# Left out are types whose credentials or addresses have several forms (azureeventhub, googlepubsub), and one whose
# channel, which everybody with read access to the Provider sees, is a credential (pagerduty).
PROVIDER_TYPES: Mapping[str, ProviderType] = {
    "alertmanager": ProviderType(),
    "azuredevops": ProviderType(Address.REPOSITORY, token=True),
    "bitbucket": ProviderType(Address.REPOSITORY, token=True),
    "bitbucketserver": ProviderType(Address.REPOSITORY, token=True),
    "datadog": ProviderType(token=True),
    "discord": ProviderType(Address.CREDENTIAL, authority=False),
    "generic": ProviderType(),
    "generic-hmac": ProviderType(token=True),
    "gitea": ProviderType(Address.REPOSITORY, token=True),
    "giteapullrequestcomment": ProviderType(Address.REPOSITORY, token=True),
    "github": ProviderType(Address.REPOSITORY, token=True),
    "githubdispatch": ProviderType(Address.REPOSITORY, token=True),
    "githubpullrequestcomment": ProviderType(Address.REPOSITORY, token=True),
    "gitlab": ProviderType(Address.REPOSITORY, token=True),
    "gitlabmergerequestcomment": ProviderType(Address.REPOSITORY, token=True),
    "googlechat": ProviderType(Address.CREDENTIAL, authority=False),
    "grafana": ProviderType(),
    "lark": ProviderType(Address.CREDENTIAL, authority=False),
    "matrix": ProviderType(token=True, channel=True),
    "msteams": ProviderType(Address.CREDENTIAL),
    "nats": ProviderType(channel=True, authority=False),
    "opsgenie": ProviderType(token=True),
    "otel": ProviderType(),
    "rocket": ProviderType(Address.CREDENTIAL),
    "sentry": ProviderType(Address.CREDENTIAL),
    "slack": ProviderType(),
    "telegram": ProviderType(Address.NONE, token=True, channel=True, authority=False),
    "webex": ProviderType(token=True, channel=True),
    "zulip": ProviderType(channel=True),
}
"""The types that the configuration takes, and that tenants can be allowed."""

BASE_URL = "githubAppBaseURL"
"""The key of a Secret with the API to which a GitHub App logs in."""
_CREDENTIALS = ("token", "username", "password")
_GITHUB_APP = ("githubAppID", "githubAppInstallationID", "githubAppInstallationOwner", "githubAppPrivateKey", BASE_URL)
_FURTHER_KEYS: Mapping[str, tuple[str, ...]] = {
    "generic": ("headers",),
    "generic-hmac": ("headers",),
    "nats": ("creds", "nkey"),
    **dict.fromkeys(("github", "githubdispatch", "githubpullrequestcomment"), _GITHUB_APP),
}
SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    name: (
        *(("address",) if each.address is not Address.NONE else ()),
        *_CREDENTIALS,
        *(("ca.crt",) if each.authority else ()),
        *_FURTHER_KEYS.get(name, ()),
    )
    for name, each in PROVIDER_TYPES.items()
}
"""What each type reads of its Secret.

Source: https://fluxcd.io/flux/components/notification/providers/#secret-reference
"""

_ID = "[0-9]{1,20}"
SECRET_FORMS: Mapping[str, str] = {
    "githubAppID": _ID,
    "githubAppInstallationID": _ID,
    "githubAppInstallationOwner": "[A-Za-z0-9][A-Za-z0-9_-]{0,99}",
    # Flux reads a YAML mapping of texts; one of plain lines is enough.
    "headers": r"\n*([A-Za-z0-9_-]+: *[ -~]*\n*)+",
    "nkey": r"S[A-Z2-7]{20,120}\n?",
}
"""What the values of keys look like, as regular expressions of RE2; the others may be any secret.

Source: https://fluxcd.io/flux/components/notification/providers/#http-headers-example and
https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth
"""
SECRET_STARTS: Mapping[str, str] = {"creds": base64.b64encode(b"-----BEGIN NATS USER JWT").decode()}
"""How the base64 of keys begins whose values are too long to decode."""
