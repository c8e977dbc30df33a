"""Which host a Provider contacts, and whether the platform has listed it.

As in `components.policies.notifications`, this follows notification-controller 1.9 (internal/notifier).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from components.allowlists.host_patterns import is_host_allowed, origin_of
from components.config.messages import Message
from components.policies.config import AllowedNotifications
from components.sync.provider_types import DEFAULT_ADDRESSES, FIXED_ADDRESSES, GIT_HOSTS, NATS

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
