"""Policies about the hosts that notification-controller contacts for a tenant: receivers of alerts, issuers of tokens.

The hosts follow notification-controller 1.9 (internal/notifier, internal/server/event_handlers.go): the key
`address` of a Provider's Secret overrides `spec.address`, and the key `proxy` sets a proxy.
"""

from __future__ import annotations

from components.allowlists.cel import boolean, concatenated, joined, text, texts
from components.allowlists.host_patterns import is_allowed, is_entry, is_public, origins_expression
from components.policies.config import AllowedNotifications
from components.policies.names import PolicyName
from components.policies.notification_hosts import URLS
from components.policies.parameters import ENTRIES_OR_NONE, is_listed, listed
from components.policies.policy import Policy, Resources, Subject, Validation
from components.policies.rendering import changes
from components.policies.request import ASK
from components.sync.provider_types import DEFAULT_ADDRESSES, FIXED_ADDRESSES, GIT_HOSTS
from components.tenant.annotations import NOTIFICATIONS

_EVENT_HUB, _EVENT_HUBS = "azureeventhub", ".servicebus.windows.net"
_UNKNOWN = ""
"""The type where it is unknown: a Provider of any type may read a Secret."""

_SECRET_KEYS = ("address", "proxy")
# How much of a Secret's value is decoded, in characters of base64: enough for any scheme, user and host.
_READ = 400
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
# White space around an address is trimmed, as the controller does; other control characters match no address.
_BYTES = "".join(
    chr(byte) if 0x20 <= byte < 0x7F else " " if byte in b"\0\t\n\v\f\r" else "\x7f" for byte in range(0x100)
)
_CUT = "\\"
"""Marks a truncated value, so that a truncated host matches nothing."""


def notification_addresses(config: AllowedNotifications) -> Policy:
    """Providers and Receivers contact only allowed hosts, over TLS."""
    provider = "variables.provider"
    return Policy(
        name=PolicyName.NOTIFICATION_ADDRESSES,
        refuses="Providers that post to, and Receivers that ask, hosts that are on neither the stack's nor the "
        "tenant's list, without a list those that are named by address or within the cluster, or any without TLS",
        settings=_SETTINGS,
        threats=(36,),
        subject=Subject.CONTENT,
        resources=(Resources("notification.toolkit.fluxcd.io", ("providers", "receivers")),),
        variables={
            "provider": f"object.kind == 'Provider' ? object.spec.type : {text(_UNKNOWN)}",
            "address": "object.kind == 'Provider' ? object.spec.?address.orValue('') : ''",
            "channel": "object.kind == 'Provider' ? object.spec.?channel.orValue('') : ''",
            "field": "object.kind == 'Receiver' ? 'spec.oidcProviders[].issuerURL' : "
            f"{provider} in {texts(FIXED_ADDRESSES)} ? 'spec.type ' + {provider} + ' with' : "
            f"{provider} == {text(_EVENT_HUB)} ? 'spec.channel or spec.address' : 'spec.address'",
            "stated": "object.kind == 'Receiver' "
            "? object.spec.?oidcProviders.orValue([]).map(each, each.issuerURL) : "
            f"{provider} in {texts(FIXED_ADDRESSES)} ? [{_strings(FIXED_ADDRESSES)}[{provider}]] : "
            f"{provider} == {text(_EVENT_HUB)} ? {_event_hub()} : "
            "variables.address != '' ? [variables.address] : "
            f"{provider} in {texts(DEFAULT_ADDRESSES)} ? [{_strings(DEFAULT_ADDRESSES)}[{provider}]] : []",
            "addresses": f"variables.stated.map(each, each.lowerAscii()){_as_urls(provider)}",
            **_list(config),
            **_origins(),
        },
        validations=(
            Validation(
                "size(variables.origins) == size(variables.addresses)",
                concatenated(
                    "variables.field",
                    text(" names no host that can be compared with what is allowed; "),
                    text("write it like https://hooks.example.com/path"),
                ),
            ),
            Validation(
                _encrypted(config),
                concatenated("variables.field", "' '", _SHOWN, text(" is not encrypted; use https://")),
            ),
            Validation(
                _allowed(),
                concatenated(
                    "variables.field",
                    "' '",
                    _SHOWN,
                    f"(variables.restricted ? {text(' is no host that is allowed; allowed are: ')} + {ENTRIES_OR_NONE} "
                    f": {text(' is an address, or a name inside of the cluster; use a public name')})",
                    ASK,
                ),
            ),
        ),
    )


def notification_secrets(config: AllowedNotifications) -> Policy:
    """A Secret can override a Provider's address, and does not show that a Provider uses it.

    So the policy checks every Secret with a key that a Provider would read: always if there is a list of hosts,
    otherwise only values that are HTTP URLs.
    """
    anew = " || ".join(f"({changes(f'{{object}}.?data[?{text(key)}]')})" for key in _SECRET_KEYS)
    has_keys = f"has(object.data) && {texts(_SECRET_KEYS)}.exists(key, key in object.data)"
    return Policy(
        name=PolicyName.NOTIFICATION_SECRETS,
        refuses="Secrets whose key `address` or `proxy` would lead a Provider to a host that is not allowed",
        settings=_SETTINGS,
        threats=(36,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("secrets",)),),
        conditions={"has-addresses": has_keys, "changes-addresses": anew},
        variables={
            "stated": f"{texts(_SECRET_KEYS)}.filter(key, key in object.data).map(key, object.data[key])"
            f"{_decoded()}.filter(each, each != '')",
            **_list(config),
            "addresses": f"variables.stated.filter(each, variables.restricted || each.matches('^(https?:)?//'))"
            f"{_as_urls(text(_UNKNOWN))}",
            **_origins(),
        },
        validations=(
            Validation(
                f"size(variables.origins) == size(variables.addresses) && {_encrypted(config)} && {_allowed()}",
                concatenated(
                    text("the keys address and proxy of a Secret are where Flux's Providers post to; allowed are "),
                    f"(variables.restricted ? {text('these hosts: ')} + {ENTRIES_OR_NONE} "
                    f": {text('https:// and public names')})",
                    text("; use one of these, or give the key another name if it is no Provider's"),
                    ASK,
                ),
            ),
        ),
    )


_SETTINGS = (
    "policies.notifications.hosts",
    "policies.notifications.plainHttp",
    "tenant: policies.notifications",
)
_SHOWN = joined("variables.origins")


def _list(config: AllowedNotifications) -> dict[str, str]:
    """The allowed hosts, and whether there is a list of them."""
    return {
        "restricted": is_listed(NOTIFICATIONS) if config.hosts is None else "true",
        "entries": f"({texts(config.hosts or ())} + {listed(NOTIFICATIONS)}).filter(entry, {is_entry('entry')})",
    }


def _origins() -> dict[str, str]:
    return {"origins": f"variables.addresses{origins_expression()}"}


def _encrypted(config: AllowedNotifications) -> str:
    return f"({boolean(config.plain_http)} || variables.origins.all(origin, origin.startsWith('https://')))"


def _allowed() -> str:
    return (
        "variables.origins.map(origin, origin.split('//')[1]).all(host, variables.restricted "
        f"? {is_allowed('host', 'variables.entries')} : {is_public('host')})"
    )


def _event_hub() -> str:
    """CEL for the hosts of an Event Hub: from its connection string, and from its namespace."""
    return (
        "(variables.address.contains('SharedAccessKey') ? [variables.address] : []) + "
        "(variables.channel == '' ? [] : ['https://' + variables.channel + "
        f"(variables.channel.contains('.servicebus.') ? '' : {text(_EVENT_HUBS)})])"
    )


def _as_urls(provider: str) -> str:
    """CEL to append to a list of lower-case addresses: all forms that Providers accept, as HTTP URLs."""

    def replaced(start: str) -> str:
        types, url = URLS[start]
        taken = f"{provider} in {texts((*types, _UNKNOWN))} && address.startsWith({text(start)})"
        return f".map(address, {taken} ? {text(url)} + address.substring({len(start)}) : address)"

    # SCP syntax of Git: git@git.example.com:org/app.
    repository = "address.matches('^[a-z0-9._~-]+@[a-z0-9._-]+:[a-z0-9./_-]')"
    of_git = f"{provider} in {texts((*GIT_HOSTS, _UNKNOWN))} && {repository}"
    # In a connection string that repeats it, the last one counts.
    once = f"size(address.split('endpoint=')) == 2 && !address.endsWith({text(_CUT)})"
    return "".join(
        (
            replaced("ssh://"),
            f".map(address, {of_git} ? 'https://' + address.replace(':', '/', 1) : address)",
            replaced("nats://"),
            replaced("tls://"),
            f".map(address, address.startsWith('endpoint=sb://') && {once} "
            "? 'https://' + address.substring(14) : address)",
        )
    )


def _decoded() -> str:
    """CEL to append to a list of base64 strings: the beginning of each, decoded, in lower case.

    Kubernetes' CEL has no base64 function.
    """
    positions = ", ".join(str(position) for position in range(0, _READ, 4))
    digits = ", ".join(
        f"{text(_BASE64)}.indexOf(encoded.charAt(i + {offset})) % {len(_BASE64) - 1}" for offset in range(4)
    )
    codes = ("four[0] * 4 + four[1] / 16", "four[1] % 16 * 16 + four[2] / 4", "four[2] % 4 * 64 + four[3]")
    characters = " + ".join(f"{text(_BYTES)}.charAt({code})" for code in codes)
    return (
        f".map(encoded, [{positions}].filter(i, i + 3 < size(encoded)).map(i, [{digits}])"
        f".map(four, {characters}).join('').trim().lowerAscii() + (size(encoded) > {_READ} ? {text(_CUT)} : ''))"
    )


def _strings(entries: dict[str, str]) -> str:
    """A CEL map of strings."""
    return f"{{{', '.join(f'{text(key)}: {text(value)}' for key, value in entries.items())}}}"
