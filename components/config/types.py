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
GIT_REFERENCE = r"^(?!/)(?!.*(//|\.\.|@\{|[\x00-\x20~^:?*\[\\]))[^-].*(?<![/.])$|^[A-Za-z0-9]$"
# Users that an enterprise manages have an underscore and its short name at the end of theirs.
_GITHUB_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"
# Source: IsQualifiedName in staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36; one
# without a domain is Kubernetes' own.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
SEMANTIC_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+$"

# What `git clone` takes, and GitHub offers to copy; nothing in it can be a password.
_SHORT_SSH = re.compile(r"([a-z0-9._-]+@[A-Za-z0-9.-]+):(?!/)([A-Za-z0-9._/-]+)")

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _not_every_pods(account: str) -> str:
    if account == "default":
        raise ValueError(
            "is the account of every pod that names none, which would hold the tenant's rights; choose another"
        )
    return account


def _matching(pattern: str, expected: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A pattern for our own check and the same one for editors; `expected` ends the sentence "… is not …"."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(f"is not {expected}")
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern, "description": expected})


def _checked(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    return AfterValidator(check), WithJsonSchema({"type": "string", "description": description})


def _with_a_unit(value: Any) -> Any:
    """A number without a unit is told so, not that it lacks quotes, which would not help."""
    number = str(value)
    if not isinstance(value, bool) and isinstance(value, int | float | str) and re.fullmatch(r"[0-9.]+", number):
        raise ValueError(f"has no unit; write it like {number}s or {number}m")
    return value


def _unshown(check: Callable[[str], str], description: str) -> tuple[AfterValidator, WithJsonSchema]:
    """A check whose messages must not repeat the value, which may be or hold a secret that does not belong there."""

    def checked(value: str) -> str:
        try:
            return check(value)
        except ValueError as error:
            raise SecretValueError(str(error)) from None

    return _checked(checked, description)


def _secret(check: Callable[[str], str], description: str) -> tuple[BeforeValidator, AfterValidator, WithJsonSchema]:
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


def _not_flux(value: str) -> str:
    """Flux's own services stay out: artifacts of all tenants would be open to each."""
    host = value.rpartition(":")[0] or value
    own = ".source-controller.flux-system.svc.cluster.local"
    if own.endswith("." + host.strip(".")) or own.startswith("." + host.strip(".") + "."):
        raise ValueError("would open the artifacts of all tenants to each of them; name single hosts outside of Flux")
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


def _url(value: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of a URL of one of the schemes, without credentials; only ssh may name its user."""
    try:
        url = urlsplit(value)
        well_formed = url.port != 0 and not any(character.isspace() for character in value)
    except ValueError:  # e.g. brackets that do not close, or a port that is no number
        well_formed = False
    if not well_formed:
        raise _unusable(value, f"is not a well-formed URL; {example}")
    beginnings = tuple(f"{scheme}://" for scheme in schemes)
    is_known = value.startswith(beginnings)
    # A password has to be renewed, whatever else is wrong; a user may only be what an unknown scheme would have.
    if url.password is not None or (url.username and url.scheme != "ssh" and is_known):
        raise _unusable(
            value, "holds credentials; take them out, they would be readable in the cluster and in the state"
        )
    if "ssh" in schemes and (short := _SHORT_SSH.fullmatch(value)):
        raise ValueError(f"is the short form of SSH, which Flux does not read; write ssh://{short[1]}/{short[2]}")
    if not is_known:
        scheme, separator, _ = value.partition("://")
        unknown = f"has the unknown scheme {scheme}://; it " if separator and scheme.isalnum() else ""
        raise _unusable(value, f"{unknown}must begin with {' or '.join(beginnings)}; {example}")
    return url


def _unusable(url: str, reason: str) -> ValueError:
    """An error that repeats the URL only where it can hold no credentials."""
    return SecretValueError(reason) if "@" in url else ValueError(reason)


def _git_url(value: str) -> str:
    example = "write it like https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
    url = _url(value, ("http", "https", "ssh"), example)
    if not url.hostname or not url.path.strip("/"):
        raise _unusable(value, f"names no host or no repository; {example}")
    # Flux compares hosts with known_hosts, and admission with what is allowed, letter by letter.
    if url.hostname not in url.netloc:
        raise _unusable(value, f"names its host in capital letters; {example}")
    return value


def _repository_path(value: str) -> str:
    """A folder of a repository in its one spelling: `./staging`, and `./` for the repository itself."""
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError("must stay inside the repository; write it like ./staging")
    folder = normpath(value)
    # One that is empty says nothing: of a platform's sync it stands for the default.
    return f"./{'' if folder == '.' else folder}" if value else value


def _web_url(value: str) -> str:
    example = "write it like https://host.example.com/path"
    if not _url(value, ("http", "https"), example).hostname:
        raise _unusable(value, f"names no host; {example}")
    return value


DnsLabel = Annotated[
    str, *_matching(DNS_LABEL, "a DNS label: at most 63 lower-case letters, digits and '-', e.g. dev-team")
]
ServiceAccountName = Annotated[DnsLabel, AfterValidator(_not_every_pods)]
TenantName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
NamespaceName = Annotated[DnsLabel, AfterValidator(_not_reserved)]
Duration = Annotated[
    str,
    BeforeValidator(_with_a_unit),
    *_matching(DURATION, "a duration; write it like 30s, 5m or 1h30m"),
    AfterValidator(_positive_duration),
]
Quantity = Annotated[
    str,
    *_matching(
        r"^[0-9]+(\.[0-9]+)?([num]|[kMGTPE]|[KMGTPE]i|[eE][0-9]+)?$",
        "a quantity of Kubernetes; write it like 4, 500m or 8Gi",
    ),
]
# Those of Flux's kinds have a key of their own.
QuotaResource = Annotated[
    str,
    *_matching(
        r"^(?!count/.*\.fluxcd\.io$)[a-z0-9]([a-zA-Z0-9./-]*[a-zA-Z0-9])?$",
        "a resource of a ResourceQuota, other than Flux's kinds, which fluxObjects limits; write it like pods",
    ),
]
GitReference = Annotated[str, *_matching(GIT_REFERENCE, "a name that Git accepts for a branch or tag, e.g. main")]
FinalizerName = Annotated[str, *_matching(_FINALIZER, "a finalizer with its domain, e.g. example.com/cleanup")]
GitCommit = Annotated[str, *_matching(r"^[0-9a-f]{40}$", "a full commit id: 40 hexadecimal digits")]
GitUrl = Annotated[str, *_checked(_git_url, "http, https or ssh URL of a Git repository, without credentials")]
RepositoryPath = Annotated[str, *_checked(_repository_path, "a folder inside the repository, e.g. ./staging")]
WebUrl = Annotated[str, *_checked(_web_url, "http or https URL")]
HostPattern = Annotated[
    str,
    *_matching(
        r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
        "a host name in lower case; write it like shop.example.com, or *.example.com for all names below",
    ),
]
Sha256 = Annotated[str, *_matching(r"^[0-9a-f]{64}$", "a sha256 digest: 64 hexadecimal digits in lower case")]
FluxVersion = Annotated[str, *_matching(SEMANTIC_VERSION, "a release of Flux; write it like 2.9.5")]
KyvernoVersion = Annotated[str, *_matching(SEMANTIC_VERSION, "a release of Kyverno; write it like 1.19.1")]
ChartVersion = Annotated[str, *_matching(SEMANTIC_VERSION, "a version of Kyverno's chart; write it like 3.9.1")]
ClusterUid = Annotated[
    str,
    *_matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        "a uid; take it from `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`",
    ),
]
# With its value, since an argument without one would swallow the next, which may belong to the lockdown.
ControllerArgument = Annotated[
    str,
    *_matching(r"^--[a-z][a-z0-9-]*=.*$", "a controller argument with its value; write it like --concurrent=8"),
]
EgressHost = Annotated[
    str,
    *_matching(
        r"^(\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?(:[0-9]{1,5})?|[0-9a-f.:]+/[0-9]{1,3}|\[[0-9a-f:]+\](:[0-9]{1,5})?)$",
        "a host, as URLs name it, a domain or a network; write it like files.example.com, .example.com or 192.0.2.0/24",
    ),
    AfterValidator(_not_flux),
]
Network = Annotated[str, *_checked(_network, "a network in CIDR notation; write it like 192.0.2.0/24")]
# Secrets. Everything typed as one has to be encrypted where it stands (components/stack/secrets.py).
SecretText = Annotated[SecretStr, *_secret(_not_empty, "secret text")]
SignerName = Annotated[str, *_matching(r"^[-._A-Za-z0-9]{1,200}$", "a name of letters, digits, '-', '_' and '.'")]
GitHubName = Annotated[
    str,
    *_matching(
        f"^{_GITHUB_NAME}$",
        "an organisation or user of GitHub: at most 39 letters, digits, '-' and '_', e.g. my-org",
    ),
]
GitHubRepositoryName = Annotated[
    str,
    *_matching(
        rf"^{_GITHUB_NAME}/(?!\.{{1,2}}$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$",
        "a repository of GitHub; write it like my-org/my-repository",
    ),
]
