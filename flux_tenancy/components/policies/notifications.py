"""Policies about what notification-controller sends for a tenant, and where to: Providers, their Secrets, Receivers.

The policy `allowed-kinds` opens these kinds; the policies here list what their objects may contain. What the stack
declares itself is not checked: its configuration is.

Source: notification-controller 1.9 (internal/notifier, internal/server/event_handlers.go). The key `address` of a
Provider's Secret overrides `spec.address`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import boolean, concatenated, joined, mapping, text, texts
from flux_tenancy.components.allowlists.host_patterns import (
    ADDRESS,
    is_allowed,
    is_entry,
    is_host_allowed,
    origin_of,
    origins_expression,
)
from flux_tenancy.components.allowlists.source_patterns import URL_PATTERN
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import ASK, ENTRIES_OR_NONE, NAME, listed
from flux_tenancy.components.sync.notifications import (
    BASE_URL,
    DEFAULT_ADDRESSES,
    FIXED_ADDRESSES,
    GIT_HOSTS,
    NATS,
    PROVIDER_TYPES,
    SECRET_FORMS,
    SECRET_KEYS,
    SECRET_STARTS,
)
from flux_tenancy.components.tenant.annotations import NOTIFICATIONS, SOURCES

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import AllowedNotifications, PoliciesConfig

URLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ssh://": (GIT_HOSTS, "https://"),
    "nats://": (NATS, "http://"),
    "tls://": (NATS, "https://"),
}
"""Other schemes that types of Provider accept, with these types and the scheme of HTTP that stands for each."""


def contacted(provider: str, address: str | None) -> str | None:
    """The URL that a Provider contacts; None for one that contacts nothing.

    Args:
        provider: its type.
        address: its address, if it has one.
    """
    if provider in FIXED_ADDRESSES:
        return FIXED_ADDRESSES[provider]
    if address is None:
        return DEFAULT_ADDRESSES.get(provider)
    for start, (types, url) in URLS.items():
        if provider in types and address.lower().startswith(start):
            return url + address[len(start) :]
    return address


def refused_address(config: AllowedNotifications, provider: str, address: str | None) -> Message | None:
    """Why a notification that the stack declares is refused; None if it is not.

    Args:
        config: what all tenants may use.
        provider: type of the Provider.
        address: its address, if it has one; messages repeat only its host.
    """
    if (url := contacted(provider, address)) is None:
        return None
    if (origin := origin_of(url)) is None:
        return Message(
            "FT-MSG-040",
            "is not a single URL that can be compared with the allowed hosts",
            "write it like https://hooks.example.com/path",
        )
    scheme, _, host = origin.partition("://")
    return (
        Message("FT-MSG-041", f"leads to {host} without TLS", "use https://")
        if scheme != "https" and not config.plain_http
        else None
    )


def unlisted_host(config: AllowedNotifications, own: Iterable[str], provider: str, address: str | None) -> str | None:
    """The host that a Provider contacts, if it is on no list; None if it is on one or cannot be told.

    Args:
        config: what all tenants may use.
        own: the hosts that the tenant may use in addition.
        provider: type of the Provider.
        address: its address, if it has one.
    """
    if (origin := origin_of(contacted(provider, address) or "")) is None:
        return None
    host = origin.partition("://")[2]
    return None if is_host_allowed(host, (*config.hosts, *own)) else host


# An object does not show which Provider reads a Secret, so the name of the Secret says it.
_SECRETS = "provider-"
# How much of a Secret's value is decoded, in characters of base64: enough for the longest webhooks of chats.
_READ = 1200
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_PRINTABLE = "".join(chr(byte) if byte == 0x0A or 0x20 <= byte < 0x7F else "\x7f" for byte in range(0x100))
_UNREADABLE = "\x7f"
"""Matches no address."""

_SETTINGS = (
    "policies.notifications.types",
    "policies.notifications.hosts",
    "policies.notifications.plainHttp",
    "tenant: policies.notifications",
)
_URLS = ("address", BASE_URL)
_SHOWN = joined("variables.origins")


def is_secret_of(type_: str, name: str) -> bool:
    """Whether a Secret has the name that a Provider of a type may refer to."""
    return name == f"{_SECRETS}{type_}" or name.startswith(f"{_SECRETS}{type_}-")


def notification_addresses(config: AllowedNotifications) -> Policy:
    """Providers and Receivers of tenants have listed types, and contact listed hosts over TLS."""
    is_provider, type_ = "object.kind == 'Provider'", "variables.types[0]"
    own = f"{text(_SECRETS)} + {type_}"
    secret = "object.spec.?secretRef.?name.orValue('')"
    return Policy(
        name=PolicyName.NOTIFICATION_ADDRESSES,
        refuses="Providers with a type or a Secret that is not listed; Providers that post to, and Receivers that "
        "contact, a host that is on neither the stack's nor the tenant's allow-list, several hosts at once, or a host "
        "without TLS",
        settings=_SETTINGS,
        threats=(36,),
        subject=Subject.CONTENT,
        resources=(Resources("notification.toolkit.fluxcd.io", ("providers", "receivers")),),
        variables={
            "types": f"{is_provider} ? [object.spec.type] : ['']",
            "stated": f"!({is_provider}) ? object.spec.?oidcProviders.orValue([]).map(each, each.issuerURL) : "
            f"{type_} in {texts(FIXED_ADDRESSES)} ? [{mapping(FIXED_ADDRESSES)}[{type_}]] : "
            "object.spec.?address.orValue('') != '' ? [object.spec.address] : "
            f"{type_} in {texts(DEFAULT_ADDRESSES)} ? [{mapping(DEFAULT_ADDRESSES)}[{type_}]] : []",
            "field": f"!({is_provider}) ? 'spec.oidcProviders[].issuerURL' : "
            f"{type_} in {texts(FIXED_ADDRESSES)} ? 'spec.type ' + {type_} + ' with' : 'spec.address'",
            **_hosts(config),
        },
        validations=(
            Validation(
                f"!({is_provider}) || {type_} in {texts(config.types)}",
                concatenated(
                    text("spec.type "),
                    type_,
                    text(f" is not allowed; allowed: {', '.join(config.types) or 'none'}"),
                    ASK,
                ),
                exempts_platform_objects=True,
            ),
            Validation(
                f"!({is_provider}) || {secret} in ['', {own}] || {secret}.startsWith({own} + '-')",
                concatenated(
                    text("spec.secretRef.name is "),
                    secret,
                    text("; name the Secret "),
                    own,
                    text(" or "),
                    own,
                    text("-<suffix>, so that its keys can be checked"),
                ),
                exempts_platform_objects=True,
            ),
            Validation(
                "size(variables.origins) == size(variables.addresses)",
                concatenated(
                    "variables.field",
                    text(" is not a single URL that can be compared with the allowed hosts; "),
                    text("write it like https://hooks.example.com/path"),
                ),
                exempts_platform_objects=True,
            ),
            Validation(
                _encrypted(config),
                concatenated("variables.field", "' '", _SHOWN, text(" is not encrypted; use https://")),
                exempts_platform_objects=True,
            ),
            Validation(
                _allowed("variables.entries"),
                concatenated(
                    "variables.field",
                    "' '",
                    _SHOWN,
                    text(" is not an allowed host; allowed: "),
                    ENTRIES_OR_NONE,
                    ASK,
                ),
                exempts_platform_objects=True,
            ),
        ),
    )


def notification_secrets(config: PoliciesConfig) -> Policy:
    """Secrets of Providers have the keys that their type reads, in the form that it reads, and lead to listed hosts.

    The base URL of a GitHub App is checked in every Secret, since sources and Providers of any name read it. It may
    also lead to a host of the lists of sources, which Flux contacts for the tenant anyway.
    """
    keys = f"{{{', '.join(f'{text(name)}: {texts(names)}' for name, names in SECRET_KEYS.items())}}}"
    forms = "|".join(f"{key}={form}" for key, form in SECRET_FORMS.items())
    values = "variables.decoded.filter(each, each.startsWith(key + '=')).map(each, each.substring(size(key) + 1))"
    return Policy(
        name=PolicyName.NOTIFICATION_SECRETS,
        refuses="Secrets of Providers with a key that their type does not read or a malformed value, or with an "
        "address that is not allowed or cannot be read in full; Secrets with a GitHub App's base URL on a host that is "
        "not allowed",
        settings=(*_SETTINGS, "policies.sources.allowed", "tenant: policies.sources"),
        threats=(36,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("secrets",)),),
        conditions={
            "of-a-provider": f"{NAME}.startsWith({text(_SECRETS)}) || {text(BASE_URL)} in object.?data.orValue({{}})",
            "changes-content": "request.operation == 'CREATE' || object.?data != oldObject.?data",
        },
        variables={
            "types": f"{texts(PROVIDER_TYPES)}.filter(type, {NAME} == {text(_SECRETS)} + type || "
            f"{NAME}.startsWith({text(_SECRETS)} + type + '-'))",
            "data": "object.?data.orValue({})",
            "unlisted": "variables.data.map(key, key).filter(key, "
            f"variables.types.exists(type, !(key in {keys}[type])))",
            "decoded": f"{texts((*_URLS, *SECRET_FORMS))}.filter(key, key in variables.data && "
            f"(key == {text(BASE_URL)} || size(variables.types) > 0)){_decoded()}",
            "stated": f"{texts(_URLS)}.map(key, {values}).filter(values, size(values) > 0).map(values, values[0])",
            "malformed": f"variables.decoded.filter(each, !each.matches({text(f'^({forms})$')})).map(each, "
            f"each.split('=')[0]).filter(key, !(key in {texts(_URLS)})) + "
            f"{mapping(SECRET_STARTS)}.map(key, key).filter(key, size(variables.types) > 0 && key in variables.data && "
            f"!string(variables.data[key]).startsWith({mapping(SECRET_STARTS)}[key]))",
            **_hosts(config.notifications),
            "git": f"'address' in variables.data ? [] : ({texts(config.sources.allowed)} + {listed(SOURCES)})"
            f".filter(entry, entry.startsWith('https://') && entry.matches({text(URL_PATTERN)}))"
            ".map(entry, entry.split('/')[2])",
        },
        validations=(
            Validation(
                "size(variables.unlisted) == 0",
                concatenated(
                    text("the keys "),
                    joined("variables.unlisted"),
                    text(" are not allowed in the Secret of a Provider of type "),
                    joined("variables.types"),
                    text("; remove them, or give the Secret another name if no Provider reads it"),
                ),
            ),
            Validation(
                "size(variables.malformed) == 0",
                concatenated(
                    text("the keys "),
                    joined("variables.malformed"),
                    text(
                        " are malformed: ids must be digits, an owner a plain name, headers lines like Name: "
                        "value, and NATS keys in NATS's own format; at most 900 bytes of ASCII"
                    ),
                ),
            ),
            Validation(
                "size(variables.origins) == size(variables.addresses) && "
                f"{_encrypted(config.notifications)} && {_allowed('variables.entries + variables.git')}",
                concatenated(
                    text(f"the keys address and {BASE_URL} of a Secret must be a single URL with "),
                    text("" if config.notifications.plain_http else "https:// and "),
                    text("an allowed host, without white space or a line break around it; allowed: "),
                    f"(size(variables.entries + variables.git) == 0 ? 'none' : "
                    f"{joined('variables.entries + variables.git')})",
                    ASK,
                ),
            ),
        ),
    )


def _hosts(config: AllowedNotifications) -> dict[str, str]:
    """The variables `entries`, `addresses` and `origins`, from `types` and `stated`.

    `origins` has an entry for each address that is a single URL.
    """
    return {
        "entries": f"({texts(config.hosts)} + {listed(NOTIFICATIONS)}).filter(entry, {is_entry('entry')})",
        "addresses": f"variables.stated.map(each, each.lowerAscii()){_as_urls()}",
        "origins": f"variables.addresses.filter(each, each.matches({text(ADDRESS)})){origins_expression()}",
    }


def _encrypted(config: AllowedNotifications) -> str:
    return f"({boolean(config.plain_http)} || variables.origins.all(origin, origin.startsWith('https://')))"


def _allowed(entries: str) -> str:
    return f"variables.origins.map(origin, origin.split('//')[1]).all(host, {is_allowed('host', f'({entries})')})"


def _as_urls() -> str:
    """CEL to append to a list of lower-case addresses: all forms that the types accept, as HTTP URLs."""

    def of(types: tuple[str, ...]) -> str:
        return f"variables.types.exists(type, type in {texts(types)})"

    def replaced(start: str) -> str:
        types, url = URLS[start]
        taken = f"{of(types)} && address.startsWith({text(start)})"
        return f".map(address, {taken} ? {text(url)} + address.substring({len(start)}) : address)"

    # SCP syntax of Git: git@git.example.com:org/app.
    repository = "address.matches('^[a-z0-9._~-]+@[a-z0-9._-]+:[a-z0-9./_-]')"
    scp = f".map(address, {of(GIT_HOSTS)} && {repository} ? 'https://' + address.replace(':', '/', 1) : address)"
    return "".join((replaced("ssh://"), scp, replaced("nats://"), replaced("tls://")))


def _decoded() -> str:
    """CEL to append to a list of keys of a Secret: each with its value, as `key=value`.

    The value has marks for what is neither printable ASCII nor a line feed. Kubernetes' CEL has no base64 function.
    """
    positions = ", ".join(str(position) for position in range(0, _READ, 4))
    digits = ", ".join(
        f"{text(_BASE64)}.indexOf(of[1].charAt(i + {offset})) % {len(_BASE64) - 1}" for offset in range(4)
    )
    codes = ("four[0] * 4 + four[1] / 16", "four[1] % 16 * 16 + four[2] / 4", "four[2] % 4 * 64 + four[3]")
    characters = " + ".join(f"{text(_PRINTABLE)}.charAt({code})" for code in codes)
    padding = "(of[1].endsWith('==') ? 2 : of[1].endsWith('=') ? 1 : 0)"
    return (
        ".map(key, [key, string(variables.data[key])])"
        f".map(of, [of[0], of[1], size(of[1]) > {_READ} ? {text(_UNREADABLE)} : "
        f"[{positions}].filter(i, i + 3 < size(of[1])).map(i, [{digits}]).map(four, {characters}).join('')])"
        f".map(of, of[0] + '=' + (size(of[1]) > {_READ} ? of[2] : of[2].substring(0, size(of[2]) - {padding})))"
    )
