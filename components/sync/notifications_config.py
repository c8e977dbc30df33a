"""The keys of `notifications`: which of Flux's events are sent, and where to."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema, model_validator

from components.config.errors import MisplacedValueError
from components.config.messages import Message, Wording
from components.config.section import Section
from components.config.types import SecretText, checked_by, regular_expression, secret, url_parts
from components.keys.types import CertificateAuthority
from components.sync.provider_types import COMMIT_STATUSES, DEFAULT_ADDRESSES, PROVIDER_TYPES, Address, ProviderType

ADDRESS_NOT_A_URL = Wording("FT-MSG-002", "is not a URL with a host", "write it like {example}")
TOO_LONG_ADDRESS = Wording("FT-MSG-003", "is longer than the {longest} characters that Flux takes")

EventKind = Literal[
    "ArtifactGenerator",
    "Bucket",
    "GitRepository",
    "HelmChart",
    "HelmRelease",
    "HelmRepository",
    "ImagePolicy",
    "ImageRepository",
    "ImageUpdateAutomation",
    "Kustomization",
    "OCIRepository",
]
ALL_KINDS: tuple[EventKind, ...] = EventKind.__args__  # type: ignore[attr-defined]

_SCHEMES = ("https", "http", "ssh", "nats", "tls")
_EXAMPLE = "https://alerts.example.com/path"
# Source: the limits of Flux's CRD and of extractAuthFromSecret in internal/server/event_handlers.go.
_LONGEST_ADDRESS = 2048


def _address(value: str) -> str:
    if not url_parts(value, _SCHEMES, _EXAMPLE).hostname:
        raise ValueError(ADDRESS_NOT_A_URL(example=_EXAMPLE))
    if len(value) > _LONGEST_ADDRESS:
        raise ValueError(TOO_LONG_ADDRESS(longest=_LONGEST_ADDRESS))
    return value


def _secret_address(value: str) -> str:
    address = value.strip()
    try:
        url = urlsplit(address)
        usable = url.scheme in _SCHEMES and url.hostname and url.port != 0 and not re.search(r"\s", address)
    except ValueError:  # e.g. a port that is not a number
        usable = False
    if not usable:
        raise ValueError(ADDRESS_NOT_A_URL(example=_EXAMPLE))
    if len(address) > _LONGEST_ADDRESS:
        raise ValueError(TOO_LONG_ADDRESS(longest=_LONGEST_ADDRESS))
    return address


def _known_type(value: str) -> str:
    if value not in PROVIDER_TYPES:
        raise ValueError(Message("FT-MSG-001", "is not a type of receiver", f"use one of {', '.join(PROVIDER_TYPES)}"))
    return value


ProviderTypeName = Annotated[
    str,
    AfterValidator(_known_type),
    WithJsonSchema({"type": "string", "enum": [*PROVIDER_TYPES], "description": "a type of Flux's Provider"}),
]
PlainAddress = Annotated[str, *checked_by(_address, "a URL that is no credential")]
SecretAddress = Annotated[SecretStr, *secret(_secret_address, "secret URL")]
MessagePattern = Annotated[str, regular_expression("(?i)forbidden|denied")]


class Notification(Section):
    """Messages about Flux's events: a Provider and an Alert.

    Source: https://fluxcd.io/flux/components/notification/
    """

    type: ProviderTypeName = Field(
        description="What receives the messages, e.g. `slack`, `msteams`, `generic`, `github`, "
        "`giteapullrequestcomment`: a type of Flux's Provider (docs/notifications.md)."
    )
    address: PlainAddress | None = Field(
        None,
        description="Where messages go, if this URL is no credential; for commit statuses and comments on pull "
        "requests a repository, by default that of the sync.",
    )
    secret_address: SecretAddress | None = Field(
        None, description="Where messages go, if this URL is a credential, such as the webhook of a channel."
    )
    token: SecretText | None = Field(
        None, description="Token for the receiver's API, or the key that signs messages of `generic-hmac`."
    )
    username: str | None = Field(
        None, min_length=1, description="User name for `password`; without one, the name that messages appear under."
    )
    password: SecretText | None = Field(None, description="Password, for receivers with basic authentication.")
    channel: str | None = Field(None, min_length=1, max_length=2048, description="Channel, room, topic or environment.")
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Certificate, PEM, of the authority that issued the receiver's certificate."
    )
    severity: Literal["info", "error"] = Field(
        "info", description="`error` sends failures only; `info` sends everything that Flux reports."
    )
    kinds: tuple[EventKind, ...] = Field(
        (),
        description="Kinds whose events are sent; by default Kustomizations for commit statuses, and otherwise all of "
        "Flux's kinds.",
    )
    include: tuple[MessagePattern, ...] = Field(
        (), description="Regular expressions (RE2); only messages that match one of them are sent."
    )
    exclude: tuple[MessagePattern, ...] = Field(
        (), description="Regular expressions (RE2); messages that match one of them are not sent."
    )
    metadata: dict[str, str] = Field(
        default_factory=dict, description="Added to each message, e.g. `summary: the shop of Europe`, `env: staging`."
    )

    @property
    def provider(self) -> ProviderType:
        """What the type needs."""
        return PROVIDER_TYPES[self.type]

    @property
    def sent_kinds(self) -> tuple[EventKind, ...]:
        """The kinds whose events are sent."""
        return self.kinds or (("Kustomization",) if self.type in COMMIT_STATUSES else ALL_KINDS)

    @property
    def credentials(self) -> tuple[str, ...]:
        """The keys that hold a credential."""
        values = {"secretAddress": self.secret_address, "token": self.token, "password": self.password}
        return tuple(key for key, value in values.items() if value is not None)

    @model_validator(mode="after")
    def _address_fits(self) -> Notification:
        given = [key for key, value in self._addresses().items() if value is not None]
        kind = self.provider.address
        if len(given) > 1:
            raise MisplacedValueError(
                ("secretAddress",), Message("FT-MSG-004", "is set in addition to address", "keep one of them")
            )
        if kind is Address.NONE and given:
            raise MisplacedValueError(
                (given[0],), Message("FT-MSG-007", f"has no effect: {self.type} posts to a fixed host", "remove it")
            )
        if not given and kind in (Address.URL, Address.CREDENTIAL) and self.type not in DEFAULT_ADDRESSES:
            raise ValueError(
                Message(
                    "FT-MSG-005",
                    f"has no address, which {self.type} needs",
                    "set secretAddress with `pulumi config set --secret`, or address if the URL is no credential",
                )
            )
        # An incoming webhook of Slack is a credential, and its API takes a token instead.
        is_credential = kind is Address.CREDENTIAL or (self.type == "slack" and self.token is None)
        if given == ["address"] and is_credential:
            raise MisplacedValueError(
                ("address",),
                Message(
                    "FT-MSG-006",
                    f"is a credential for {self.type}: whoever knows it can post messages",
                    "set secretAddress with `pulumi config set --secret` instead",
                ),
            )
        return self

    @model_validator(mode="after")
    def _needs_met(self) -> Notification:
        needs = self.provider
        if needs.token and self.token is None:
            raise ValueError(
                Message(
                    "FT-MSG-008",
                    f"has no token, which {self.type} needs",
                    "set token with `pulumi config set --secret`",
                )
            )
        if needs.channel and self.channel is None:
            raise ValueError(Message("FT-MSG-009", f"has no channel, which {self.type} needs", "set channel"))
        if self.password is not None and self.username is None:
            raise MisplacedValueError(("password",), Message("FT-MSG-010", "needs a username", "set username"))
        if self.certificate_authority is not None and not needs.authority:
            raise MisplacedValueError(
                ("certificateAuthority",),
                Message("FT-MSG-011", f"has no effect: Flux does not read it for {self.type}", "remove it"),
            )
        return self

    def _addresses(self) -> dict[str, object]:
        return {"address": self.address, "secretAddress": self.secret_address}
