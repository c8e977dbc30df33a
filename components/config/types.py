"""Constrained types with the names of the domain. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network
from posixpath import normpath
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, WithJsonSchema

from components.config.errors import SecretValueError

# Namespaces of the cluster's own parts. A tenant in one of them would own the platform (threat 27).
RESERVED_NAMES = frozenset({"default", "flux-system", "capsule-system", "cert-manager"})
RESERVED_PREFIXES = ("kube-", "kyverno", "flux-", "capsule-")

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
# The pattern that Flux's own CRDs hold durations against.
DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
SEMANTIC_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+$"

# What `git clone` takes, and GitHub offers to copy; nothing in it can be a password.
_SHORT_SSH = re.compile(r"([a-z0-9._-]+@[A-Za-z0-9.-]+):(?!/)([A-Za-z0-9._/-]+)")

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def matching(pattern: str, expected: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A pattern for our own check and the same one for editors; `expected` ends the sentence "… is not …"."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(f"is not {expected}")
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern, "description": expected})


def checked_by(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    return AfterValidator(check), WithJsonSchema({"type": "string", "description": description})


def _with_a_unit(value: Any) -> Any:
    """A number without a unit is told so, not that it lacks quotes, which would not help."""
    number = str(value)
    if not isinstance(value, bool) and isinstance(value, int | float | str) and re.fullmatch(r"[0-9.]+", number):
        raise ValueError(f"has no unit; write it like {number}s or {number}m")
    return value


def unshown(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A check whose messages must not repeat the value, which may be or hold a secret that does not belong there."""

    def checked(value: str) -> str:
        try:
            return check(value)
        except ValueError as error:
            raise SecretValueError(str(error)) from None

    return checked_by(checked, description)


def secret(check: Callable[[str], str], description: str) -> tuple[BeforeValidator, AfterValidator, WithJsonSchema]:
    """A secret text with a check of what is in it."""

    def checked(value: SecretStr) -> SecretStr:
        try:
            return SecretStr(check(value.get_secret_value()))
        except ValueError as error:
            raise SecretValueError(str(error)) from None

    schema = {"type": "string", "format": "password", "writeOnly": True, "description": description}
    return BeforeValidator(_text), AfterValidator(checked), WithJsonSchema(schema)


def seconds(duration: str) -> float:
    """The length in seconds of a duration as Flux writes it, e.g. `1h30m` is 5400."""
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", duration)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def is_reserved(name: str) -> bool:
    """Whether a namespace or tenant name belongs to the cluster's own parts."""
    return name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES)


def _not_reserved(name: str) -> str:
    if is_reserved(name):
        raise ValueError("is reserved for the cluster's own parts; choose another name")
    return name


def _positive_duration(value: str) -> str:
    if seconds(value) <= 0:
        raise ValueError("must be longer than nothing; write it like 30s, 5m or 1h30m")
    return value


def _network(value: str) -> str:
    try:
        if "/" not in value:
            raise ValueError
        ip_network(value)
    except ValueError:
        raise ValueError("is not a network in CIDR notation; write it like 192.0.2.0/24") from None
    return value


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise SecretValueError("must be a string" + ("; put it in quotes" if isinstance(value, int | float) else ""))
    return value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    return value


def url_parts(value: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of a URL of one of the schemes, without credentials; only ssh may name its user."""
    try:
        url = urlsplit(value)
        well_formed = url.port != 0 and not any(character.isspace() for character in value)
    except ValueError:  # e.g. brackets that do not close, or a port that is no number
        well_formed = False
    if not well_formed:
        raise unusable_url(value, f"is not a well-formed URL; {example}")
    beginnings = tuple(f"{scheme}://" for scheme in schemes)
    is_known = value.startswith(beginnings)
    # A password has to be renewed, whatever else is wrong; a user may only be what an unknown scheme would have.
    if url.password is not None or (url.username and url.scheme != "ssh" and is_known):
        raise unusable_url(
            value, "holds credentials; take them out, they would be readable in the cluster and in the state"
        )
    if "ssh" in schemes and (short := _SHORT_SSH.fullmatch(value)):
        raise ValueError(f"is the short form of SSH, which Flux does not read; write ssh://{short[1]}/{short[2]}")
    if not is_known:
        scheme, separator, _ = value.partition("://")
        unknown = f"has the unknown scheme {scheme}://; it " if separator and scheme.isalnum() else ""
        raise unusable_url(value, f"{unknown}must begin with {' or '.join(beginnings)}; {example}")
    return url


def unusable_url(url: str, reason: str) -> ValueError:
    """An error that repeats the URL only where it can hold no credentials."""
    return SecretValueError(reason) if "@" in url else ValueError(reason)


def _repository_path(value: str) -> str:
    """A folder of a repository in its one spelling: `./staging`, and `./` for the repository itself."""
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError("must stay inside the repository; write it like ./staging")
    folder = normpath(value)
    # One that is empty says nothing: of a platform's sync it stands for the default.
    return f"./{'' if folder == '.' else folder}" if value else value


def _web_url(value: str) -> str:
    example = "write it like https://host.example.com/path"
    if not url_parts(value, ("http", "https"), example).hostname:
        raise unusable_url(value, f"names no host; {example}")
    return value


DnsLabel = Annotated[
    str, *matching(DNS_LABEL, "a DNS label: at most 63 lower-case letters, digits and '-', e.g. dev-team")
]
TenantName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
NamespaceName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
Duration = Annotated[
    str,
    BeforeValidator(_with_a_unit),
    *matching(DURATION, "a duration; write it like 30s, 5m or 1h30m"),
    AfterValidator(_positive_duration),
]
Quantity = Annotated[
    str,
    *matching(
        r"^[0-9]+(\.[0-9]+)?([num]|[kMGTPE]|[KMGTPE]i|[eE][0-9]+)?$",
        "a quantity of Kubernetes; write it like 4, 500m or 8Gi",
    ),
]
RepositoryPath = Annotated[str, *checked_by(_repository_path, "a folder inside the repository, e.g. ./staging")]
WebUrl = Annotated[str, *checked_by(_web_url, "http or https URL")]
Sha256 = Annotated[str, *matching(r"^[0-9a-f]{64}$", "a sha256 digest: 64 hexadecimal digits in lower case")]
Network = Annotated[str, *checked_by(_network, "a network in CIDR notation; write it like 192.0.2.0/24")]
# Secrets. Everything typed as one has to be encrypted where it stands (components/stack/secrets.py).
SecretText = Annotated[SecretStr, *secret(_not_empty, "secret text")]
