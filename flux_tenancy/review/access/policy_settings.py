"""What the settings of the admission policies allow tenants, in the words that stand beside each setting."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flux_tenancy.components.allowlists.entries import ANYTHING
from flux_tenancy.components.config.allowances import Allows, Bounds, SeenOtherwise, Words
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.policies.config import OWN_TAINTS, PoliciesConfig
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.tenant.annotations import EXCEPTIONS
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.grants import ExceptedPolicy
from flux_tenancy.review.access.sentences import counted

FACTOR = 4
"""A limit that grows less than this is an adjustment."""
_ANY_NAME = ""
Lists = Mapping[str, Sequence[str]]
"""The lists of a namespace by annotation."""


@dataclass(frozen=True)
class Setting:
    """A setting of the stack that allows tenants something.

    Attributes:
        key: its key, e.g. `policies.sources.allowed`.
        policy: the policy that decides by it.
    """

    key: str
    words: Allows | Bounds
    policy: PolicyName

    @property
    def annotation(self) -> str:
        """The annotation with the tenant's own entries or bound; empty if a tenant has none."""
        return self.words.own


@cache
def _words_of_settings() -> Mapping[str, Words | None]:
    """Every setting by its key, with the words of its model, if it has any."""
    sections: Mapping[str, type[Section]] = {"policies": PoliciesConfig, "tenancy": TenancyConfig}
    return {key: words for name, section in sections.items() for key, words in _fields(section, name)}


@cache
def told_settings() -> tuple[Setting, ...]:
    """The settings with words for what they allow, each with the first policy that depends on it."""
    first = {key: each.name for each in reversed(policies(PoliciesConfig())) for key in each.settings}
    return tuple(
        Setting(key, words, first[key])
        for key, words in _words_of_settings().items()
        if isinstance(words, Allows | Bounds) and key in first
    )


def seen_otherwise() -> set[str]:
    """The keys of the settings whose changes are told from the objects."""
    return {key for key, words in _words_of_settings().items() if isinstance(words, SeenOtherwise)}


def values_of(stack: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every setting by its key; settings that this program does not know have one, too."""
    return dict(_values(stack, ""))


def differences(before: Mapping[str, Any], after: Mapping[str, Any], told: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names of what differs, each with its value now and before, e.g. `now 5 (before: 3)`.

    Args:
        before, after: values by name.
        told: names of those that are told in other words.
    """
    for name in sorted({*before, *after}.difference(told)):
        if name not in after:
            yield name, f"no longer {_value(before[name])}"
        elif name not in before:
            yield name, f"now {_value(after[name])} (before: not set)"
        elif before[name] != after[name]:
            yield name, f"now {_value(after[name])} (before: {_value(before[name])})"


def changes_of(setting: Setting, old: tuple[Any, Lists], new: tuple[Any, Lists]) -> tuple[str, str]:
    """Words for what a setting allows only now, and for what it no longer allows; empty if nothing.

    Args:
        old, new: its value, and the lists of the namespace.
    """
    words = setting.words
    if isinstance(words, Bounds):
        return _moved(words, _bound(words, *old), _bound(words, *new))
    before, after = _allowed(words, *old), _allowed(words, *new)
    lost = _gained(words, after, before)
    left = counted(sorted(_left(words, before, after)), "") if lost and after else ""
    return _gained(words, before, after), f"{lost} (only {left})" if left else lost


def is_opened(setting: Setting, old: tuple[Any, Lists], new: tuple[Any, Lists]) -> bool:
    """Whether a setting now allows anything or far more, drops a whole rule, or lists what is for the cluster's own.

    Args:
        setting: the setting, of which something differs.
        old, new: its value, and the lists of the namespace.
    """
    words = setting.words
    if isinstance(words, Bounds):
        low, high = sorted(_number(_bound(words, *each)) for each in (old, new))
        return high >= FACTOR * low
    before, after = _allowed(words, *old), _allowed(words, *new)
    if after is None or isinstance(new[0], bool) or words.forbidden_of is not None:
        return True
    return any(_is_powerful(entry) for entry in after - (before or frozenset()))


def allowed(setting: Setting, value: Any, own: Lists) -> str:
    """Words for what a setting allows; empty if nothing."""
    words = setting.words
    if isinstance(words, Bounds):
        return words.wider.replace("{}", f"{_bound(words, value, own)}{words.unit}")
    return _gained(words, frozenset(), _allowed(words, value, own))


def exceptions(old: Lists, new: Lists) -> Iterator[tuple[PolicyName, str]]:
    """The policies from which only the second lists have exceptions, with words for these."""
    for policy in map(PolicyName, ExceptedPolicy):
        before, after = _excepted(policy, old), _excepted(policy, new)
        if after - before and _ANY_NAME not in before:
            shown = "of any name" if _ANY_NAME in after else f"named {counted(sorted(after - before), '')}"
            yield policy, f"create objects {shown} that the policy {policy} refuses"


def _fields(section: type[Section], path: str) -> Iterator[tuple[str, Words | None]]:
    for name, field in section.model_fields.items():
        key = f"{path}.{field.alias or name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from _fields(field.annotation, key)
        else:
            yield key, next((each for each in field.metadata if isinstance(each, Words)), None)


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and path not in _words_of_settings():
        for key, each in value.items():
            yield from _values(each, f"{path}.{key}" if path else key)
    else:
        yield path, value


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _allowed(words: Allows, value: Any, own: Lists) -> frozenset[str] | None:
    """What a setting allows with a tenant's own entries; None for anything."""
    further = frozenset(own.get(words.own, ()))
    if isinstance(value, bool):
        is_set = own[words.own] == ("true",) if words.own in own else value
        entries: frozenset[str] | None = frozenset({""} if is_set else ())
    elif value is None:
        entries = further or None if words.unset is None else frozenset({words.unset[0]}) | further
    else:
        entries = frozenset(words.read(value)) | further
    if entries is None or words.anything and ANYTHING in entries or words.empty_is_anything and not entries:
        return None
    return entries if words.forbidden_of is None else words.forbidden_of - entries


def _gained(words: Allows, before: frozenset[str] | None, after: frozenset[str] | None) -> str:
    if before is None or before == after:
        return ""
    if after is None:
        return words.anything
    entries = sorted(
        entry for entry in after - words.always if not any(_includes(words, each, entry) for each in before)
    )
    return words.each.replace("{}", counted(entries, "")) if entries else ""


def _left(words: Allows, before: frozenset[str] | None, after: frozenset[str]) -> Iterable[str]:
    """The new entries that are a part of what an earlier one allowed."""
    return after if before is None else [e for e in after - before if any(_includes(words, one, e) for one in before)]


def _includes(words: Allows, one: str, other: str) -> bool:
    """Whether an entry of a list includes another: `name/*` for all below, `*.name` for hosts."""
    if words.unset is not None and one == words.unset[0]:
        return words.unset[1](other)
    below = one.endswith("/*") and other.startswith(one[:-1])
    return one == other or below or (one.startswith("*.") and other.endswith(one[1:]))


def _bound(words: Bounds, value: Any, own: Lists) -> Any:
    """The bound that holds in a namespace."""
    return type(value)(own[words.own][0]) if words.own in own else value


def _moved(words: Bounds, before: Any, after: Any) -> tuple[str, str]:
    old, new = map(_number, (before, after))
    if old == new:
        return "", ""
    is_wider = (new < old) is words.least
    bound = (words.wider if is_wider else words.narrower).replace("{}", f"{after}{words.unit}")
    said = f"{bound} (before: {before}{words.unit})"
    return (said, "") if is_wider else ("", said)


def _number(bound: Any) -> float:
    return seconds(bound) if isinstance(bound, str) else float(bound)


def _is_powerful(entry: str) -> bool:
    """Whether an entry is a priority class or taint of the cluster's own components."""
    return entry.startswith("system-") or re.match(OWN_TAINTS, entry) is not None


def _excepted(policy: PolicyName, lists: Lists) -> frozenset[str]:
    """The excepted names."""
    entries = (entry.partition("/") for entry in lists.get(EXCEPTIONS, ()))
    return frozenset(name for of, _, name in entries if of == policy)
