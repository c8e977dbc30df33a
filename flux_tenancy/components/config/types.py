"""Constrained types named after the domain. Each error says what to write instead.

Secrets that stay encrypted, for reading a stack without its passphrase, have stand-ins. Only
`components.stack.files.secrets` makes them. They are recognized by their type and not by their text, so nothing in a
file can pass for one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import ip_network
from posixpath import normpath
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, WithJsonSchema

from flux_tenancy.components.config.errors import NOT_A, RESERVED, WRONG, WRONG_TYPE, SecretValueError
from flux_tenancy.components.config.messages import Message, Wording, message_of


class SealedText(str):
    """The text that stands for a secret: where it is, and a digest of its encrypted form.

    Attributes:
        digest: the keyed digest, 16 hexadecimal digits; it changes whenever the value is encrypted again.
    """

    digest: str

    @classmethod
    def of(cls, key: str, encrypted: str, salt: str) -> SealedText:
        """The stand-in for a value.

        Args:
            salt: what belongs to this stack's encryption alone, so that digests of two stacks cannot be compared.
        """
        digest = hmac.new(salt.encode(), f"{key}\n{encrypted}".encode(), hashlib.sha256).hexdigest()[:16]
        sealed = cls(f"<encrypted {key} {digest}>")
        sealed.digest = digest
        return sealed

    @property
    def public_half(self) -> str:
        """What stands for the public half of a sealed private key."""
        return f"<public half of {self[1:]}"


def is_sealed(secret: SecretStr) -> bool:
    """Whether a secret of the configuration is a stand-in."""
    return isinstance(secret.get_secret_value(), SealedText)


EMPTY = Wording("FT-CFG-010", "must not be empty")


_DURATIONS = "30s, 5m or 1h30m"

# Namespaces of the cluster's own components. A tenant in one of them would own the platform.
RESERVED_NAMES = frozenset({"default", "flux-system", "capsule-system", "cert-manager"})
RESERVED_PREFIXES = ("kube-", "kyverno", "flux-", "capsule-")

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
# The pattern of durations in Flux's CRDs.
DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
SEMANTIC_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+$"

# What `git clone` accepts, and GitHub offers to copy; it cannot hold a password.
_SHORT_SSH = re.compile(r"([A-Za-z0-9._-]+@[A-Za-z0-9.-]+):(?!/)([A-Za-z0-9._/-]+)")

# What Python's regular expressions support, and those of Go do not.
_NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|P=|\()|\\[1-9]")

_NANOSECONDS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def matching(pattern: str, otherwise: Message) -> tuple[AfterValidator, WithJsonSchema]:
    """The same pattern for this program's check and for editors.

    Args:
        otherwise: what is said of any other value; it begins with "is not", and the rest describes the type.
    """
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(otherwise)
        return value

    description = otherwise.removeprefix("is not ")
    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern, "description": description})


def checked_by(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A check that returns the value in its final spelling, and a description of the type for editors."""
    return AfterValidator(check), WithJsonSchema({"type": "string", "description": description})


def regular_expression(example: str) -> AfterValidator:
    """A check for a regular expression of Go, which is read as RE2."""

    def check(value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(NOT_A(what=f"a regular expression ({error})", example=example)) from None
        if _NOT_RE2.search(value):
            raise ValueError(
                NOT_A(
                    what="a regular expression of RE2, which has neither lookarounds nor backreferences",
                    example=example,
                )
            )
        return value

    return AfterValidator(check)


def _with_a_unit(value: Any) -> Any:
    """Point out the missing unit; "must be a string" would suggest quotes, which do not help."""
    number = str(value)
    if not isinstance(value, bool) and isinstance(value, int | float | str) and re.fullmatch(r"[0-9.]+", number):
        raise ValueError(NOT_A(what="a duration with its unit", example=f"{number}s or {number}m"))
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
    # Whole nanoseconds, as Go and CEL count them: in floats, 0.1s0.2s would be longer than 0.3s.
    return sum(int(Decimal(number) * _NANOSECONDS[unit]) for number, unit in parts) / 10**9


def is_reserved(name: str) -> bool:
    """Whether the name of a namespace or tenant belongs to the cluster's own components."""
    return name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES)


def _not_reserved(name: str) -> str:
    if is_reserved(name):
        raise ValueError(RESERVED(owner="the cluster's own components"))
    return name


def _positive_duration(value: str) -> str:
    if seconds(value) <= 0:
        raise ValueError(NOT_A(what="a duration longer than zero", example=_DURATIONS))
    return value


def _network(value: str) -> str:
    try:
        if "/" not in value:
            raise ValueError
        ip_network(value)
    except ValueError:
        raise ValueError(NOT_A(what="a network in CIDR notation", example="192.0.2.0/24")) from None
    return value


def _string(value: Any) -> Any:
    if isinstance(value, SealedText):
        return SecretStr(value)  # as it is; pydantic would make it a plain string
    if not isinstance(value, str):
        is_number = isinstance(value, int | float)
        raise SecretValueError(
            WRONG_TYPE(wanted="a string", found="a number", remedy="put it in quotes")
            if is_number
            else WRONG(wanted="a string", found="another value")
        )
    return value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError(EMPTY())
    return value


def has_plain_host(url: SplitResult) -> bool:
    """Whether a URL has a host without capital letters: Flux and admission compare hosts as they are written."""
    host = url.hostname or ""
    return host != "" and host in url.netloc.rpartition("@")[2]


def url_parts(value: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of a URL that has one of the schemes and no credentials; only ssh may name a user.

    Args:
        schemes: the schemes that are supported, e.g. `https`.

    Raises:
        ValueError: it is anything else; `SecretValueError` where it may hold credentials.
    """
    try:
        url = urlsplit(value)
        well_formed = url.port != 0 and not any(character.isspace() for character in value)
    except ValueError:  # e.g. an open bracket, or a port that is not a number
        well_formed = False
    if not well_formed:
        raise unusable_url(value, NOT_A(what="a well-formed URL", example=example))
    beginnings = tuple(f"{scheme}://" for scheme in schemes)
    is_known = value.startswith(beginnings)
    # A password has to be rotated, whatever else is wrong; a user alone may be part of an unsupported scheme.
    if url.password is not None or (url.username and url.scheme != "ssh" and is_known):
        raise unusable_url(
            value,
            Message(
                "FT-CFG-014",
                "contains a user or credentials",
                "remove all up to the @; rotate a password or token, which is readable in the cluster and in Pulumi's "
                "state",
            ),
        )
    if "ssh" in schemes and (short := _SHORT_SSH.fullmatch(value)):
        raise ValueError(
            Message(
                "FT-CFG-015", "is SSH's short form, which Flux does not support", f"write ssh://{short[1]}/{short[2]}"
            )
        )
    if not is_known:
        raise unusable_url(value, NOT_A(what=f"a URL that begins with {' or '.join(beginnings)}", example=example))
    return url


def unusable_url(url: str, reason: Message) -> ValueError:
    """An error that repeats the URL only where it cannot hold credentials."""
    return SecretValueError(reason) if "@" in url else ValueError(reason)


def _repository_path(value: str) -> str:
    """A folder of a repository in its canonical spelling: `./staging`, and `./` for the repository itself."""
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError(NOT_A(what="a folder inside the repository", example="./staging"))
    folder = normpath(value)
    # An empty one stays empty: for the platform's sync it means the default.
    return f"./{'' if folder == '.' else folder}" if value else value


def url_of(*schemes: str, example: str, description: str, host: bool = True) -> tuple[AfterValidator, WithJsonSchema]:
    """The type of a URL without credentials.

    Args:
        host: whether its host must be without capital letters: Flux and admission compare hosts as they are written.
    """

    def check(value: str) -> str:
        url = url_parts(value, schemes, example)
        if not (has_plain_host(url) if host else url.hostname):
            raise unusable_url(value, NOT_A(what="a URL with a host in lowercase", example=example))
        return value

    return checked_by(check, description)


DnsLabel = Annotated[
    str,
    *matching(
        DNS_LABEL, NOT_A(what="a DNS label", example="dev-team, with at most 63 lowercase letters, digits and dashes")
    ),
]
# PriorityClasses, StorageClasses and CSI drivers.
ClusterName = Annotated[
    str,
    *matching(
        r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$",
        NOT_A(what="the name of a class or driver", example="fast, with letters, digits, dashes and dots"),
    ),
]
TaintKey = Annotated[
    str,
    *matching(
        r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$", NOT_A(what="the key of a taint", example="nvidia.com/gpu")
    ),
]
TenantName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
NamespaceName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
Duration = Annotated[
    str,
    BeforeValidator(_with_a_unit),
    *matching(DURATION, NOT_A(what="a duration", example=_DURATIONS)),
    AfterValidator(_positive_duration),
]
Quantity = Annotated[
    str,
    *matching(
        r"^[0-9]+(\.[0-9]+)?([num]|[kMGTPE]|[KMGTPE]i|[eE][0-9]+)?$",
        NOT_A(what="a Kubernetes quantity", example="4, 500m or 8Gi"),
    ),
]
RepositoryPath = Annotated[str, *checked_by(_repository_path, "a folder inside the repository, e.g. ./staging")]
WebUrl = Annotated[
    str, *url_of("http", "https", example="https://host.example.com/path", description="http or https URL", host=False)
]
Sha256 = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{64}$", NOT_A(what="a SHA-256 digest", example="9f86d08…, with 64 lowercase hexadecimal digits")
    ),
]
Network = Annotated[str, *checked_by(_network, "a network in CIDR notation; write it like 192.0.2.0/24")]
# Everything typed as a secret has to be encrypted in the file (components/stack/files/secrets.py).
SecretText = Annotated[SecretStr, *secret(_not_empty, "secret string")]


def _not_every_pods(account: str) -> str:
    if account == "default":
        raise ValueError(RESERVED(owner="pods, which would then have the tenant's rights"))
    return account


ServiceAccountName = Annotated[DnsLabel, AfterValidator(_not_every_pods)]
# Of resources without a domain, Kubernetes knows these only.
# Source: standardQuotaResources and standardContainerResources in pkg/apis/core/helper/helpers.go of Kubernetes
_COMPUTE = "cpu|memory|ephemeral-storage"
_OF_A_DOMAIN = r"[a-z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?/[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?"
_OTHER_THAN_FLUX = r"(?!(count/)?.*\.fluxcd\.io$)"
_LIMITABLE, _FLUX = "a resource that can be limited here", "Flux's own kinds are limited by fluxObjects"
QuotaResource = Annotated[
    str,
    *matching(
        rf"^{_OTHER_THAN_FLUX}({_OF_A_DOMAIN}|((requests|limits)\.)?({_COMPUTE})|requests\.storage"
        r"|(requests\.)?hugepages-[a-zA-Z0-9]+|services(\.nodeports|\.loadbalancers)?|pods|replicationcontrollers"
        r"|resourcequotas|secrets|configmaps|persistentvolumeclaims)$",
        NOT_A(what=_LIMITABLE, example=f"requests.cpu, pods or count/jobs.batch; {_FLUX}"),
    ),
]
CountedResource = Annotated[
    str,
    *matching(
        rf"^{_OTHER_THAN_FLUX}(count/)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        NOT_A(what=_LIMITABLE, example=f"secrets or jobs.batch; {_FLUX}"),
    ),
]
ContainerResource = Annotated[
    str,
    *matching(
        rf"^({_OF_A_DOMAIN}|{_COMPUTE}|hugepages-[a-zA-Z0-9]+)$",
        NOT_A(what=_LIMITABLE, example=f"cpu, memory or nvidia.com/gpu; {_FLUX}"),
    ),
]


# A date without quotes is a timestamp to YAML. Pulumi passes it on, and writes it back, in the notation of Go.
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00:00(?:Z|\+00:00| \+0000 UTC)?)?")


def today() -> date:
    """The current date in UTC, so that a decision expires everywhere at the same time."""
    return now().date()


def now() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def as_written(value: Any) -> Any:
    """A value as its file has it: a date without the time that Pulumi adds to one without quotes."""
    found = _DATE.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else value


def _date(value: Any) -> Any:
    written = _DATE.fullmatch(str(value))
    try:
        return date.fromisoformat(written[1] if written else "")
    except ValueError:
        raise ValueError(NOT_A(what="a date", example="2027-01-31")) from None


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError(EMPTY())
    return value.strip()


EXPIRED = Wording(
    "FT-TEN-400",
    "has passed (today is {today}): the {decision} has expired",
    "remove it, or have those who decided agree to a later date",
)

Reason = Annotated[str, AfterValidator(_not_blank)]
LastDay = Annotated[
    date,
    BeforeValidator(_date),
    WithJsonSchema({"type": "string", "format": "date", "description": "a date like 2027-01-31"}),
]
"""The last day, in UTC, on which a decision holds."""
