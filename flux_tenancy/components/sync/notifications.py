"""Notifications: which of Flux's events are sent and where to, as sections of the configuration and as objects.

A notification is a Secret with its credentials, a Provider and an Alert. An Alert gets the events of its own namespace
only, so a tenant with several namespaces has one in each.

Source: https://fluxcd.io/flux/components/notification/ and `--no-cross-namespace-refs` in
internal/server/event_handlers.go of notification-controller 1.9
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema, model_validator

from flux_tenancy.components.config.errors import MISSING, NO_EFFECT, NOT_A, ONLY_ONE, UNKNOWN, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Passed, merged
from flux_tenancy.components.config.types import SecretText, checked_by, regular_expression, secret, url_parts
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.keys.signing_keys import CertificateAuthority
from flux_tenancy.components.plan import Planned, Stage

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest
    from flux_tenancy.components.vocabulary.names import ObjectMeta


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
        authority: whether it reads the certificate of an authority.
    """

    address: Address = Address.URL
    authority: bool = True


_FILE: Mapping[str, Mapping[str, Any]] = data_of(__file__, "providers.yaml")
PROVIDER_TYPES: Mapping[str, ProviderType] = {
    name: ProviderType(Address(row.get("address", Address.URL)), row.get("authority", True))
    for name, row in _FILE.items()
}
"""The types that the configuration takes, and that tenants can be allowed."""
FIXED_ADDRESSES: Mapping[str, str] = {name: row["fixed"] for name, row in _FILE.items() if "fixed" in row}
"""Types that ignore the host of their address and post to a fixed one."""
DEFAULT_ADDRESSES: Mapping[str, str] = {name: row["default"] for name, row in _FILE.items() if "default" in row}
"""Types with a default address."""
GIT_HOSTS = tuple(
    name for name, each in PROVIDER_TYPES.items() if each.address is Address.REPOSITORY and name not in FIXED_ADDRESSES
)
"""Types whose address is a repository, possibly an SSH URL; they use the API of the same host."""
NATS = ("nats",)
COMMIT_STATUSES = tuple(name for name, row in _FILE.items() if row.get("status"))
"""Types that report on the commit that was applied; only events of Kustomizations always name it."""

BASE_URL = "githubAppBaseURL"
"""The key of a Secret with the API to which a GitHub App logs in."""
SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    name: (
        *(("address",) if each.address is not Address.NONE else ()),
        *("token", "username", "password"),
        *(("ca.crt",) if each.authority else ()),
        *_FILE[name].get("keys", ()),
    )
    for name, each in PROVIDER_TYPES.items()
}
"""What each type reads of its Secret."""

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


def _address(value: str) -> str:
    if not url_parts(value, _SCHEMES, _EXAMPLE).hostname:
        raise ValueError(NOT_A(what="a URL with a host", example=_EXAMPLE))
    return value


def _secret_address(value: str) -> str:
    address = value.strip()
    try:
        url = urlsplit(address)
        usable = url.scheme in _SCHEMES and url.hostname and url.port != 0 and not re.search(r"\s", address)
    except ValueError:  # e.g. a port that is not a number
        usable = False
    if not usable:
        raise ValueError(NOT_A(what="a URL with a host", example=_EXAMPLE))
    return address


def _known_type(value: str) -> str:
    if value not in PROVIDER_TYPES:
        raise ValueError(UNKNOWN(what="a type of receiver", choices=", ".join(PROVIDER_TYPES)))
    return value


ProviderTypeName = Annotated[
    str,
    AfterValidator(_known_type),
    WithJsonSchema({"type": "string", "enum": [*PROVIDER_TYPES], "description": "a type of Flux's Provider"}),
]
PlainAddress = Annotated[str, *checked_by(_address, "a URL that is no credential")]
SecretAddress = Annotated[SecretStr, *secret(_secret_address, "secret URL")]
MessagePattern = Annotated[str, regular_expression("(?i)forbidden|denied")]


class Notification(Passed):
    """Notifications about Flux's events: a Provider and an Alert.

    Source: https://fluxcd.io/flux/components/notification/
    """

    type: ProviderTypeName = Field(
        description=(
            "Type of Flux's Provider, e.g. `slack`, `msteams`, `generic`, `github`, "
            "`giteapullrequestcomment` (docs/syncs.md#notifications)."
        )
    )
    address: PlainAddress | None = Field(
        None,
        description=(
            "URL of the receiver, if it is not a credential; for commit statuses and comments, a "
            "repository, by default the sync's."
        ),
    )
    secret_address: SecretAddress | None = Field(
        None, description="URL of the receiver, if it is a credential, such as the webhook of a channel."
    )
    token: SecretText | None = Field(
        None, description="Token for the receiver's API, or the key that signs messages of `generic-hmac`."
    )
    username: str | None = Field(
        None, min_length=1, description="User name for `password`, or the sender's name in messages."
    )
    password: SecretText | None = Field(None, description="Password, for receivers with basic authentication.")
    channel: str | None = Field(None, min_length=1, description="Channel, room, topic or environment.")
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Authority of the receiver's certificate."
    )
    severity: Literal["info", "error"] = Field(
        "info", description="`error` sends failures only, `info` all that Flux reports."
    )
    kinds: tuple[EventKind, ...] = Field(
        (), description="Kinds whose events are sent; by default Kustomizations for commit statuses, otherwise all."
    )
    include: tuple[MessagePattern, ...] = Field(
        (), description="Regular expressions (RE2) of the messages that are sent."
    )
    exclude: tuple[MessagePattern, ...] = Field(
        (), description="Regular expressions (RE2) of the messages that are not sent."
    )
    metadata: dict[str, str] = Field(default_factory=dict, description="Metadata of each message.")

    kind_of_object = "Provider"
    api_reference = "https://fluxcd.io/flux/components/notification/api/v1beta3/"
    owned: ClassVar[Mapping[str, str]] = {
        "certSecretRef": "set certificateAuthority",
        "eventMetadata": "set metadata",
        "eventSeverity": "set severity",
        "eventSources": "set kinds",
        "exclusionList": "set exclude",
        "inclusionList": "set include",
        "providerRef": "remove it",
        "secretRef": "set secretAddress, token or password",
    }

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

    @property
    def has_secret(self) -> bool:
        """Whether it has a Secret: for credentials, or for a certificate."""
        return bool(self.credentials) or self.certificate_authority is not None

    @model_validator(mode="after")
    def _address_fits(self) -> Notification:
        given = [key for key, value in self._addresses().items() if value is not None]
        kind = self.provider.address
        if len(given) > 1:
            raise MisplacedValueError(("secretAddress",), ONLY_ONE(keys="address and secretAddress"))
        if kind is Address.NONE and given:
            raise MisplacedValueError(
                (given[0],), NO_EFFECT(reason=f"{self.type} posts to a fixed host", remedy="remove it")
            )
        if not given and kind in (Address.URL, Address.CREDENTIAL) and self.type not in DEFAULT_ADDRESSES:
            raise ValueError(
                Message(
                    "FT-MSG-005",
                    f"has no address, which {self.type} needs",
                    "set secretAddress with `pulumi config set --secret`, or address if the URL is not a credential",
                )
            )
        # An incoming webhook of Slack is a credential, and its API takes a token instead.
        is_credential = kind is Address.CREDENTIAL or (self.type == "slack" and self.token is None)
        if given == ["address"] and is_credential:
            raise MisplacedValueError(
                ("address",),
                Message(
                    "FT-MSG-006",
                    f"is a credential for {self.type}: anyone who has it can post messages",
                    "set secretAddress with `pulumi config set --secret` instead",
                ),
            )
        return self

    @model_validator(mode="after")
    def _whole_login(self) -> Notification:
        if self.password is not None and self.username is None:
            raise MisplacedValueError(("username",), MISSING())
        return self

    def _addresses(self) -> dict[str, object]:
        return {"address": self.address, "secretAddress": self.secret_address}


OF_ALERTS = ("summary", "suspend")
"""Further keys that are fields of the Alert; all others are of the Provider."""
PROVIDER_API = "notification.toolkit.fluxcd.io/v1"
"""The API of Alerts and Providers since Flux 2.10."""
BETA_PROVIDER_API = "notification.toolkit.fluxcd.io/v1beta3"
"""Their API before."""
SECRET_NAME = r"[a-z0-9-]+\.[a-z0-9-]+-[0-9a-f]{8}"
"""Pattern of the generated names of Secrets: namespace, notification, and what the provider adds."""
# With the Secret, whether it has one or not, twice while it is replaced.
_ROOM = {"count/providers.notification.toolkit.fluxcd.io": 1, "count/secrets": 2}


def planned_notification(
    meta: ObjectMeta, key: str, config: Notification, repository: str | None, api: str
) -> list[Planned]:
    """A notification: an immutable Secret if it has credentials, a Provider that refers to it, and an Alert.

    Args:
        repository: URL of the sync's repository; None if it applies none.
    """
    name = f"{meta.name}-{key}"
    spec: Manifest = {"type": config.type}
    if (address := stated_address(config, repository)) is not None:
        spec["address"] = address
    if config.channel is not None:
        spec["channel"] = config.channel
    if config.username is not None and config.password is None:
        spec["username"] = config.username
    secrets: list[Planned] = []
    if config.has_secret:
        # Resources of a stack have unique names, and neither a namespace nor a key contains a dot.
        prefix = f"{meta.namespace}.{key}"
        secrets.append(Planned(Stage.CONTENT, meta.immutable_secret(prefix, _secret_data(config)), room={}))
        spec["secretRef"] = {"name": prefix}
        if config.certificate_authority is not None:
            spec["certSecretRef"] = {"name": prefix}
    further = {key: value for key, value in config.further.items() if key not in OF_ALERTS}
    metadata = meta.metadata(name)
    credentials = tuple(each.key for each in secrets)
    alert = {"apiVersion": api, "kind": "Alert", "metadata": metadata, "spec": _alert(name, config)}
    provider = Planned(
        Stage.CONTENT,
        {"apiVersion": api, "kind": "Provider", "metadata": metadata, "spec": merged(spec, further)},
        needs=credentials,
        room=_ROOM,
    )
    return [*secrets, provider, Planned(Stage.CONTENT, alert, needs=(*credentials, provider.key))]


def stated_address(config: Notification, repository: str | None) -> str | None:
    """The address that everybody may read; None if it is a credential or belongs to the type.

    Args:
        repository: URL of the sync's repository; None if it applies none.
    """
    if config.provider.address is Address.REPOSITORY and config.address is None and config.secret_address is None:
        url = urlsplit(repository or "")
        # Flux would take the port of SSH for that of the host's API.
        return f"https://{url.hostname}{url.path}" if url.scheme == "ssh" else repository
    return config.address


def _secret_data(config: Notification) -> dict[str, str]:
    """The entries of the Secret, not encoded.

    Source: https://fluxcd.io/flux/components/notification/providers/#secret-reference
    """
    secrets = {"address": config.secret_address, "token": config.token, "password": config.password}
    data = {key: value.get_secret_value().strip() for key, value in secrets.items() if value is not None}
    if config.password is not None and config.username is not None:
        data["username"] = config.username
    if config.certificate_authority is not None:
        data["ca.crt"] = config.certificate_authority
    return data


def _alert(name: str, config: Notification) -> Manifest:
    spec: Manifest = {
        "providerRef": {"name": name},
        "eventSeverity": config.severity,
        "eventSources": [{"kind": kind, "name": "*"} for kind in config.sent_kinds],
    }
    lists = {"inclusionList": list(config.include), "exclusionList": list(config.exclude)}
    spec |= {key: entries for key, entries in lists.items() if entries}
    spec |= {"eventMetadata": dict(config.metadata)} if config.metadata else {}
    return merged(spec, {key: value for key, value in config.further.items() if key in OF_ALERTS})
