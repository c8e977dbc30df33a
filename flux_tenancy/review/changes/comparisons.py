"""Whether a value matters that differs from the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_network
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flux_tenancy.components.allowlists.entries import canonical
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.policies.config import OWN_TAINTS
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.vocabulary.manifests import parse_quantity

Compare = Callable[[Any, Any], bool]
"""Compares a value before a change with that after it; None stands for an absent one."""

FACTOR = 4
"""A limit that grows less than this is an adjustment."""
_MANY_WORKERS = 100
_RARE_SECONDS = 86_400.0
"""From this interval on, nobody can count on the correction of drift."""
_HASTY_SECONDS = 10.0
"""Below it, hardly any timeout is long enough for a fetch or an apply."""
_ENDLESS = Decimal("Infinity")
_ANY_VERSION = re.compile(r"\s*(\*|[xX]|>=?\s*v?[0-9][^<|,\s]*)\s*")
# The priority classes and taints of the cluster's own components; `*` is every taint.
_OF_CLUSTER = re.compile(rf"\*|system-.*|{OWN_TAINTS}.*")
_LEVELS = (*(level.value for level in PodSecurity), "none")
TRUTH = TypeAdapter[bool | None](bool | None)
"""A truth value, which can be written in several ways."""


def differs(_before: Any, _after: Any) -> bool:
    """Any difference."""
    return True


def becomes(*values: Any) -> Compare:
    """Whether it is one of these values now, and was none of them; a truth value can be written in several ways."""
    return lambda before, after: _is_one_of(after, values) and not _is_one_of(before, values)


def was(*values: Any) -> Compare:
    """Whether it was one of these values."""
    return lambda before, _: _is_one_of(before, values)


def _is_one_of(value: Any, values: Collection[Any]) -> bool:
    with suppress(ValidationError):
        return value in values or (True in values and bool(TRUTH.validate_python(value)))
    return False


def comes(before: Any, _after: Any) -> bool:
    """Whether there was none."""
    return before is None


def is_given(_before: Any, after: Any) -> bool:
    """Whether there is one now."""
    return after is not None


def was_given(before: Any, _after: Any) -> bool:
    """Whether there was one."""
    return before is not None


def goes(_before: Any, after: Any) -> bool:
    """Whether there is none now."""
    return after is None


def gains(before: Any, after: Any) -> bool:
    """Whether a list has further entries."""
    return any(each not in (before or ()) for each in after or ())


def loses(before: Any, after: Any) -> bool:
    """Whether a list has fewer entries."""
    return gains(after, before)


def opens(before: Any, after: Any) -> bool:
    """Whether a list allows more; without one, everything is allowed."""
    return before is not None and (after is None or gains(before, after))


def narrows(before: Any, after: Any) -> bool:
    """Whether a list allows less; without one, everything is allowed."""
    return opens(after, before)


def is_unlimited(before: Any, after: Any) -> bool:
    """Whether a list allows everything now, by its absence or by `*`."""
    return (after is None or "*" in after) and not (before is None or "*" in before)


def is_emptied(before: Any, after: Any) -> bool:
    """Whether nothing is left in a list or a mapping."""
    return bool(before) and not after


def gains_of_cluster(before: Any, after: Any) -> bool:
    """Whether a list has further entries that are for the cluster's own components."""
    return any(_OF_CLUSTER.fullmatch(each) and each not in (before or ()) for each in after or ())


def is_weaker_level(before: Any, after: Any) -> bool:
    """Whether a level of Pod Security allows more Pods; of a new namespace, whether it allows privileged ones."""
    return after is not None and _LEVELS.index(after) > _LEVELS.index("baseline" if before is None else before)


def opens_further(before: Any, after: Any) -> bool:
    """Whether there is an opening in a network that no earlier one includes."""
    return any(not any(one.includes(each) for one in before or ()) for each in after or ())


def leaves_out(before: Any, after: Any) -> bool:
    """Whether patterns of files may match further ones; each that begins with `!` takes files back in."""
    old, new = ((each or "").splitlines() for each in (before, after))
    return gains(old, new) or any(each.startswith("!") for each in old)


def is_hasty(before: Any, after: Any) -> bool:
    """Whether a timeout has become shorter, and hardly any work ends within it."""
    return is_replaced(before, after) and seconds(after) < min(_HASTY_SECONDS, seconds(before))


def is_laxer(before: Any, after: Any) -> bool:
    """Whether another mode of verification checks less than both tag and commit."""
    return is_replaced(before, after) and after != "TagAndHEAD"


def is_replaced(before: Any, after: Any) -> bool:
    """Whether there is one before and after."""
    return before is not None and after is not None


def is_elsewhere(before: Any, after: Any) -> bool:
    """Whether an address is another one, however it is written."""
    return is_replaced(before, after) and canonical(str(before)) != canonical(str(after))


def is_any_version(_before: Any, after: Any) -> bool:
    """Whether a range of versions has no end."""
    return after is None or _ANY_VERSION.fullmatch(str(after)) is not None


def lasts_longer(before: Any, after: Any) -> bool:
    """Whether a day is later: `until 2027-01-31`, or `without an end`."""
    return is_replaced(before, after) and str(after) > str(before)


def is_shorter(before: Any, after: Any) -> bool:
    """Whether a time, as `2026-12-24T17:00:00Z to 2026-12-27T06:00:00Z`, begins later or ends earlier."""
    if not is_replaced(before, after):
        return False
    (start, end), (new_start, new_end) = (str(each).split(" to ") for each in (before, after))
    return new_start > start or new_end < end


def shrinks(before: Any, after: Any) -> bool:
    """Whether a number is smaller."""
    return is_replaced(before, after) and quantity(after) < quantity(before)


def is_divided(before: Any, after: Any) -> bool:
    """Whether a quantity has shrunk by FACTOR."""
    return is_replaced(before, after) and FACTOR * quantity(after) <= quantity(before)


def is_multiplied(before: Any, after: Any) -> bool:
    """Whether a quantity has grown by FACTOR."""
    return is_replaced(before, after) and quantity(after) >= FACTOR * quantity(before)


def is_much_longer(before: Any, after: Any) -> bool:
    """Whether a time has grown by FACTOR."""
    return is_replaced(before, after) and seconds(after) >= FACTOR * seconds(before)


def is_much_shorter(before: Any, after: Any) -> bool:
    """Whether a time has shrunk by FACTOR."""
    return is_much_longer(after, before)


def is_rare(before: Any, after: Any) -> bool:
    """Whether an interval has become longer, and is a day or more."""
    return (
        after is not None and seconds(after) >= _RARE_SECONDS and (before is None or seconds(after) > seconds(before))
    )


def is_zero(before: Any, after: Any) -> bool:
    """Whether nothing is left of a quantity."""
    return is_replaced(before, after) and quantity(after) == 0


def many_workers(before: Any, after: Any) -> bool:
    """Whether a number of workers has grown much, or to more than a controller should have."""
    if after is None or (before is not None and quantity(after) <= quantity(before)):
        return False
    return quantity(after) >= _MANY_WORKERS or is_multiplied(before, after)


def quantity(value: Any) -> Decimal:
    """A quantity of Kubernetes; endless if it cannot be read."""
    try:
        return parse_quantity(value)
    except (ValueError, ArithmeticError):
        return _ENDLESS


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
