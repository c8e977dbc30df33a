"""Constrained types named after the domain. Each error says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network
from posixpath import normpath
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, WithJsonSchema

from components.config.config_wordings import (
    DURATION_OF_ZERO,
    DURATION_WITHOUT_UNIT,
    EMPTY,
    MALFORMED_URL,
    NO_SCHEME,
    NOT_A_DNS_LABEL,
    NOT_A_DURATION,
    NOT_A_NETWORK,
    NOT_A_QUANTITY,
    NOT_A_REGULAR_EXPRESSION,
    NOT_A_SHA256,
    NOT_RE2,
    PATH_OUTSIDE_REPOSITORY,
    RESERVED_NAME,
    SECRET_NOT_A_STRING,
    SECRET_WITHOUT_QUOTES,
    SHORT_SSH_URL,
    TIMEOUT_IN_HOURS,
    UNKNOWN_SCHEME,
    URL_WITH_CREDENTIALS,
    URL_WITHOUT_HOST,
)
from components.config.errors import SecretValueError
from components.config.sealed import SealedText, is_sealed
from components.config.wordings import Message, Wording, message_of

# Namespaces of the cluster's own components. A tenant in one of them would own the platform.
RESERVED_NAMES = frozenset({"default", "flux-system", "capsule-system", "cert-manager"})
RESERVED_PREFIXES = ("kube-", "kyverno", "flux-", "capsule-")

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
# The pattern of durations in Flux's CRDs.
DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
# That of the timeout of its sources, which knows no hours.
_FETCH_TIMEOUT = r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$"
SEMANTIC_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+$"

# What `git clone` accepts, and GitHub offers to copy; it cannot hold a password.
_SHORT_SSH = re.compile(r"([a-z0-9._-]+@[A-Za-z0-9.-]+):(?!/)([A-Za-z0-9._/-]+)")

# What Python's regular expressions support, and those of Go do not.
_NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|P=|\()|\\[1-9]")

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def matching(pattern: str, otherwise: Wording) -> tuple[AfterValidator, WithJsonSchema]:
    """The same pattern for this program's check and for editors.

    Args:
        pattern: a regular expression for the whole value.
        otherwise: what is said of any other value; it begins with "is not", and the rest describes the type.
    """
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(otherwise())
        return value

    description = otherwise().removeprefix("is not ")
    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern, "description": description})


def checked_by(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A check that returns the value in its final spelling, and a description of the type for editors."""
    return AfterValidator(check), WithJsonSchema({"type": "string", "description": description})


def regular_expression(example: str) -> AfterValidator:
    """A check for a regular expression of Go, which is read as RE2.

    Args:
        example: one to show in messages.
    """

    def check(value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(NOT_A_REGULAR_EXPRESSION(reason=error, example=example)) from None
        if _NOT_RE2.search(value):
            raise ValueError(NOT_RE2(example=example))
        return value

    return AfterValidator(check)


def _with_a_unit(value: Any) -> Any:
    """Point out the missing unit; "must be a string" would suggest quotes, which do not help."""
    number = str(value)
    if not isinstance(value, bool) and isinstance(value, int | float | str) and re.fullmatch(r"[0-9.]+", number):
        raise ValueError(DURATION_WITHOUT_UNIT(number=number))
    return value


def unshown(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A check whose messages do not repeat the value, since it may be or hold a misplaced secret."""

    def checked(value: str) -> str:
        try:
            return check(value)
        except ValueError as error:
            raise SecretValueError(message_of(error)) from None

    return checked_by(checked, description)


def secret(check: Callable[[str], str], description: str) -> tuple[BeforeValidator, AfterValidator, WithJsonSchema]:
    """A secret string, and a check of its content."""

    def checked(value: SecretStr) -> SecretStr:
        if is_sealed(value):
            return value
        try:
            return SecretStr(check(value.get_secret_value()))
        except ValueError as error:
            raise SecretValueError(message_of(error)) from None

    schema = {"type": "string", "format": "password", "writeOnly": True, "description": description}
    return BeforeValidator(_string), AfterValidator(checked), WithJsonSchema(schema)


def seconds(duration: str) -> float:
    """The length in seconds of a duration in Flux's notation, e.g. 5400 for `1h30m`."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", duration)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def is_reserved(name: str) -> bool:
    """Whether the name of a namespace or tenant belongs to the cluster's own components."""
    return name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES)


def _not_reserved(name: str) -> str:
    if is_reserved(name):
        raise ValueError(RESERVED_NAME())
    return name


def _positive_duration(value: str) -> str:
    if seconds(value) <= 0:
        raise ValueError(DURATION_OF_ZERO())
    return value


def _network(value: str) -> str:
    try:
        if "/" not in value:
            raise ValueError
        ip_network(value)
    except ValueError:
        raise ValueError(NOT_A_NETWORK()) from None
    return value


def _string(value: Any) -> Any:
    if isinstance(value, SealedText):
        return SecretStr(value)  # as it is; pydantic would make it a plain string
    if not isinstance(value, str):
        raise SecretValueError(SECRET_WITHOUT_QUOTES() if isinstance(value, int | float) else SECRET_NOT_A_STRING())
    return value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError(EMPTY())
    return value


def url_parts(value: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of a URL that has one of the schemes and no credentials; only ssh may name a user.

    Args:
        value: the URL.
        schemes: the schemes that are supported, e.g. `https`.
        example: a URL to show in messages.

    Raises:
        ValueError: it is anything else; `SecretValueError` where it may hold credentials.
    """
    try:
        url = urlsplit(value)
        well_formed = url.port != 0 and not any(character.isspace() for character in value)
    except ValueError:  # e.g. an open bracket, or a port that is not a number
        well_formed = False
    if not well_formed:
        raise unusable_url(value, MALFORMED_URL(example=example))
    beginnings = tuple(f"{scheme}://" for scheme in schemes)
    is_known = value.startswith(beginnings)
    # A password has to be rotated, whatever else is wrong; a user alone may be part of an unsupported scheme.
    if url.password is not None or (url.username and url.scheme != "ssh" and is_known):
        raise unusable_url(value, URL_WITH_CREDENTIALS())
    if "ssh" in schemes and (short := _SHORT_SSH.fullmatch(value)):
        raise ValueError(SHORT_SSH_URL(host=short[1], path=short[2]))
    if not is_known:
        scheme, separator, _ = value.partition("://")
        supported = " or ".join(beginnings)
        if separator and scheme.isalnum():
            raise unusable_url(value, UNKNOWN_SCHEME(scheme=scheme, schemes=supported, example=example))
        raise unusable_url(value, NO_SCHEME(schemes=supported, example=example))
    return url


def unusable_url(url: str, reason: Message) -> ValueError:
    """An error that repeats the URL only where it cannot hold credentials."""
    return SecretValueError(reason) if "@" in url else ValueError(reason)


def _repository_path(value: str) -> str:
    """A folder of a repository in its canonical spelling: `./staging`, and `./` for the repository itself."""
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError(PATH_OUTSIDE_REPOSITORY())
    folder = normpath(value)
    # An empty one stays empty: for the platform's sync it means the default.
    return f"./{'' if folder == '.' else folder}" if value else value


def _web_url(value: str) -> str:
    example = "https://host.example.com/path"
    if not url_parts(value, ("http", "https"), example).hostname:
        raise unusable_url(value, URL_WITHOUT_HOST(example=example))
    return value


DnsLabel = Annotated[str, *matching(DNS_LABEL, NOT_A_DNS_LABEL)]
TenantName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
NamespaceName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
Duration = Annotated[
    str,
    BeforeValidator(_with_a_unit),
    *matching(DURATION, NOT_A_DURATION),
    AfterValidator(_positive_duration),
]
FetchTimeout = Annotated[Duration, *matching(_FETCH_TIMEOUT, TIMEOUT_IN_HOURS)]
Quantity = Annotated[
    str,
    *matching(
        r"^[0-9]+(\.[0-9]+)?([num]|[kMGTPE]|[KMGTPE]i|[eE][0-9]+)?$",
        NOT_A_QUANTITY,
    ),
]
RepositoryPath = Annotated[str, *checked_by(_repository_path, "a folder inside the repository, e.g. ./staging")]
WebUrl = Annotated[str, *checked_by(_web_url, "http or https URL")]
Sha256 = Annotated[str, *matching(r"^[0-9a-f]{64}$", NOT_A_SHA256)]
Network = Annotated[str, *checked_by(_network, "a network in CIDR notation; write it like 192.0.2.0/24")]
# Everything typed as a secret has to be encrypted in the file (components/stack/secrets.py).
SecretText = Annotated[SecretStr, *secret(_not_empty, "secret string")]
