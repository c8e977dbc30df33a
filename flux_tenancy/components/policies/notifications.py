"""Policies about what notification-controller sends for a tenant, and where to: Providers, their Secrets, Receivers.

The policy `allowed-kinds` opens these kinds; the policies here list what their objects may contain. What the stack
declares itself is not checked: its configuration is.

Source: notification-controller 1.9 (internal/notifier, internal/server/event_handlers.go). The key `address` of a
Provider's Secret overrides `spec.address`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.entries import origin_of, text, texts
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.sync.notifications import (
    DEFAULT_ADDRESSES,
    FIXED_ADDRESSES,
    GIT_HOSTS,
    NATS,
)

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import AllowedNotifications

URLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ssh://": (GIT_HOSTS, "https://"),
    "nats://": (NATS, "http://"),
    "tls://": (NATS, "https://"),
}
"""Other schemes that types of Provider accept, with these types and the scheme of HTTP that stands for each."""


def contacted(provider: str, address: str | None) -> str | None:
    """The URL that a Provider contacts; None for one that contacts nothing.

    Args:
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


# An object does not show which Provider reads a Secret, so the name of the Secret says it.
_SECRETS = "provider-"
# How much of a Secret's value is decoded, in characters of base64: enough for the longest webhooks of chats.
_READ = 1200
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_PRINTABLE = "".join(chr(byte) if byte == 0x0A or 0x20 <= byte < 0x7F else "\x7f" for byte in range(0x100))
_UNREADABLE = "\x7f"
"""Matches no address."""


def to_urls() -> str:
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


def decoded(read: int = _READ) -> str:
    """CEL to append to a list of keys of a Secret: each with its value, as `key=value`.

    The value has marks for what is neither printable ASCII nor a line feed. Kubernetes' CEL has no base64 function.

    Args:
        read: how much of a value is decoded, in characters of base64; a longer one is unreadable.
    """
    positions = ", ".join(str(position) for position in range(0, read, 4))
    digits = ", ".join(
        f"{text(_BASE64)}.indexOf(of[1].charAt(i + {offset})) % {len(_BASE64) - 1}" for offset in range(4)
    )
    codes = ("four[0] * 4 + four[1] / 16", "four[1] % 16 * 16 + four[2] / 4", "four[2] % 4 * 64 + four[3]")
    characters = " + ".join(f"{text(_PRINTABLE)}.charAt({code})" for code in codes)
    padding = "(of[1].endsWith('==') ? 2 : of[1].endsWith('=') ? 1 : 0)"
    return (
        ".map(key, [key, string(variables.data[key])])"
        f".map(of, [of[0], of[1], size(of[1]) > {read} ? {text(_UNREADABLE)} : "
        f"[{positions}].filter(i, i + 3 < size(of[1])).map(i, [{digits}]).map(four, {characters}).join('')])"
        f".map(of, of[0] + '=' + (size(of[1]) > {read} ? of[2] : of[2].substring(0, size(of[2]) - {padding})))"
    )
