"""Rules of a NetworkPolicy about addresses, and what one opens beyond another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

# The largest private networks are 10.0.0.0/8 and fc00::/7.
# Source: https://www.rfc-editor.org/rfc/rfc1918 and https://www.rfc-editor.org/rfc/rfc4193
_WIDEST = {4: 8, 6: 7}


@dataclass(frozen=True)
class Opening:
    """An `ipBlock` of a rule, and a port or a range of it.

    Attributes:
        cidr: its network.
        left_out: the networks in it that stay closed.
        port: the port, as in the rule; None for all.
    """

    cidr: str
    left_out: tuple[str, ...] = ()
    port: tuple[str, int, int] | None = None

    def __str__(self) -> str:
        closed = f" except {', '.join(self.left_out)}" if self.left_out else ""
        if self.port is None:
            return f"{self.cidr}{closed}"
        protocol, first, last = self.port
        return f"{self.cidr}{closed} at {first if first == last else f'{first}-{last}'}/{protocol}"

    @property
    def is_wide(self) -> bool:
        """Whether its network has more addresses than any private one, such as all of them or a half."""
        network = ip_network(self.cidr)
        return network.prefixlen < _WIDEST[network.version]

    def includes(self, other: Opening) -> bool:
        """Whether it opens all that another one opens."""
        network = ip_network(other.cidr)
        return (
            (self.port is None or (other.port is not None and _has(self.port, other.port)))
            and _is_in(network, self.cidr)
            and all(
                not closed.overlaps(network) or any(_is_in(closed, each) for each in other.left_out)
                for closed in map(ip_network, self.left_out)
            )
        )


def openings(rules: Iterable[Mapping[str, Any]] | None, side: str) -> Iterator[Opening]:
    """The openings of rules.

    Args:
        side: `to` or `from`.
    """
    for rule in rules or ():
        for block in (peer["ipBlock"] for peer in rule.get(side) or () if "ipBlock" in peer):
            for port in rule.get("ports") or (None,):
                found = port and (port.get("protocol", "TCP"), port["port"], port.get("endPort", port["port"]))
                yield Opening(block["cidr"], tuple(block.get("except") or ()), found)


def _is_in(network: Any, wider: str) -> bool:
    found = ip_network(wider)
    return bool(network.version == found.version and network.subnet_of(found))


def _has(wider: tuple[str, int, int], port: tuple[str, int, int]) -> bool:
    return wider[0] == port[0] and wider[1] <= port[1] and port[2] <= wider[2]
