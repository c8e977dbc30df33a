"""The settings of the admission policies, as their rendered CEL has them, and the words for what they allow.

The patterns follow the policies in `components/policies/`. A setting that they do not find is not lost: a reviewer then
reads that the policy has changed in another way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, get_args

from components.allowlists.source_patterns import ANYTHING
from components.allowlists.types import VerifiedKind
from components.config.types import seconds
from components.policies.config import PoliciesConfig
from components.policies.kinds import RESOURCE
from components.policies.names import PolicyName
from components.policies.request import is_listed
from components.policies.table import policies
from components.tenant.annotations import (
    EXCEPTIONS,
    HOSTS,
    IMAGES,
    KINDS,
    NOTIFICATIONS,
    SERVICE_TYPES,
    SOURCES,
    VERIFIED,
)
from components.tenant.grants import ExceptedPolicy
from review.access.words import counted

Allowed = frozenset[str] | None
"""What a setting allows; None for anything."""

_STRING = r'("(?:[^"\\]|\\.)*")'
_LIST = r'(\[(?:"(?:[^"\\]|\\.)*"(?:, )?)*\])'
_FLAG = "(true|false)"
_EXCEPT = "!"
"""Marks a regular expression for what is not allowed among the entries of a setting."""
_ANY_NAME = ""
_USUAL_TAINTS = "every taint but those of control planes and of nodes that are cordoned or unhealthy"
_HOUR = 3600
# Not told: no class, a class that is not set yet, and taints that Kubernetes itself tolerates.
_ALWAYS = (
    "",
    "-",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)


def _duration(length: float) -> str:
    """Seconds in Flux's notation."""
    whole = int(length)
    for unit, size in (("h", _HOUR), ("m", 60)):
        if whole and whole == length and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{length:g}s"


@dataclass(frozen=True)
class Checked:
    """What checks the requests of a tenant in one namespace.

    Attributes:
        cel: of the policy, for each engine that enforces it: `name=CEL` of variables, and CEL of validations.
        annotations: of the namespace.
    """

    cel: Sequence[Sequence[str]]
    annotations: Mapping[str, str]


@dataclass(frozen=True)
class ListSetting:
    """What tenants may use: entries of a list, with the tenant's own.

    Attributes:
        policies: the policies whose CEL has it; the first decides.
        patterns: regular expressions for the places of the list in the CEL. The first has the entries; without it
            anything is allowed.
        each: words for entries, which replace `{}`.
        anything: words for no restriction.
        read: the entries that such a place allows.
        annotation: the annotation of a namespace with the tenant's own entries; empty if a tenant has none.
        anywhere: regular expression for CEL that says whether the stack restricts at all; empty if it always does.
        forbids: whether the tenant's own entries are forbidden rather than allowed.
        adds: whether the list has entries of Kubernetes itself, too, which no stack removes.
    """

    policies: tuple[PolicyName, ...]
    patterns: tuple[str, ...]
    each: str
    anything: str = ""
    read: Callable[[str], Allowed] = lambda found: frozenset(json.loads(found))
    annotation: str = ""
    anywhere: str = ""
    forbids: bool = False
    adds: bool = False

    def changed(self, old: Checked, new: Checked) -> tuple[str, str]:
        """Words for what is allowed only now, and for what is no longer allowed; empty if nothing."""
        before, after = self._allowed(old), self._allowed(new)
        lost = self._gained(after, before)
        left = _shown(sorted(after)) if lost and before is None and after else ""
        return self._gained(before, after), f"{lost} (only {left})" if left else lost

    def allowed(self, checked: Checked) -> str:
        """Words for what is allowed; empty if nothing."""
        return self._gained(frozenset(), self._allowed(checked))

    def _allowed(self, checked: Checked) -> Allowed:
        """What all engines allow."""
        allowed: Allowed = None
        for each in (self._allowed_by(cel, checked.annotations) for cel in checked.cel):
            allowed = each if allowed is None else allowed if each is None else allowed & each
        return allowed

    def _allowed_by(self, cel: Sequence[str], annotations: Mapping[str, str]) -> Allowed:
        free = self.anywhere and _found(self.anywhere, cel) != "false"
        entries = _found(self.patterns[0], cel)
        stack = None if free or entries is None else self.read(entries)
        if stack is not None and self.adds:
            stack -= _of_kubernetes(self.policies[0], self.patterns[0])
        own = frozenset(annotations.get(self.annotation, "").split())
        if self.forbids:
            return (stack or frozenset()) - own
        allowed = stack if self.annotation not in annotations else (stack or frozenset()) | own
        return None if allowed is not None and ANYTHING in allowed else allowed

    def _gained(self, before: Allowed, after: Allowed) -> str:
        if before is None or before == after:
            return ""
        if after is None:
            return self.anything
        entries = sorted(entry for entry in after if not any(_includes(each, entry) for each in before))
        return self.each.replace("{}", _shown(entries)) if entries else ""


@dataclass(frozen=True)
class BoundSetting:
    """A number that tenants may not pass.

    Attributes:
        policies, patterns: as of a ListSetting.
        wider: words for a bound that allows more; `{}` is the new bound.
        narrower: the same for one that allows less.
        read: the number in such a place.
        shown: words for such a number.
        least: whether it is the smallest that is allowed instead of the largest.
    """

    policies: tuple[PolicyName, ...]
    patterns: tuple[str, ...]
    wider: str
    narrower: str
    read: Callable[[str], float] = seconds
    shown: Callable[[float], str] = _duration
    least: bool = False
    annotation: ClassVar[str] = ""

    def changed(self, old: Checked, new: Checked) -> tuple[str, str]:
        """Words for what is allowed only now, and for what is no longer allowed; empty if nothing."""
        before, after = self._bound(old), self._bound(new)
        if before is None or after is None or before == after:
            return "", ""
        is_wider = (after < before) is self.least
        words = (self.wider if is_wider else self.narrower).replace("{}", self.shown(after))
        said = f"{words} (before: {self.shown(before)})"
        return (said, "") if is_wider else ("", said)

    def allowed(self, checked: Checked) -> str:
        """Words for what is allowed; empty if there is no bound."""
        bound = self._bound(checked)
        return "" if bound is None else self.wider.replace("{}", self.shown(bound))

    def _bound(self, checked: Checked) -> float | None:
        """The strictest bound of all engines."""
        found = [bound for cel in checked.cel if (bound := _found(self.patterns[0], cel)) is not None]
        return (max if self.least else min)(map(self.read, found), default=None)


@dataclass(frozen=True)
class ExceptionSetting:
    """The exceptions that a tenant has been granted from a policy.

    Attributes:
        policies: the policy.
    """

    policies: tuple[PolicyName, ...]
    patterns: ClassVar[tuple[str, ...]] = ()
    annotation: ClassVar[str] = EXCEPTIONS

    def changed(self, old: Checked, new: Checked) -> tuple[str, str]:
        """Words for what is excepted only now, and for what is no longer excepted; empty if nothing."""
        before, after = self._names(old), self._names(new)
        gained = "" if _ANY_NAME in before else self._words(after - before)
        return gained, "" if _ANY_NAME in after else self._words(before - after)

    def allowed(self, checked: Checked) -> str:
        """Words for what is excepted; empty if nothing."""
        return self._words(self._names(checked))

    def _names(self, checked: Checked) -> frozenset[str]:
        entries = (entry.partition("/") for entry in checked.annotations.get(EXCEPTIONS, "").split())
        return frozenset(name for policy, _, name in entries if policy == self.policies[0])

    def _words(self, names: frozenset[str]) -> str:
        if not names:
            return ""
        shown = "of any name" if _ANY_NAME in names else f"named {counted(sorted(names), '')}"
        return f"create objects {shown} that the policy {self.policies[0]} refuses"


Setting = ListSetting | BoundSetting | ExceptionSetting


def without_settings(policy: PolicyName, cel: Iterable[str]) -> frozenset[str]:
    """The CEL of a policy without the values of its settings, to see whether anything else changes."""
    own = [setting for setting in SETTINGS if policy in setting.policies]
    patterns = [pattern for each in own for pattern in each.patterns]
    patterns += [each.anywhere for each in own if isinstance(each, ListSetting) and each.anywhere]
    patterns += _FOLLOWING.get(policy, ())
    masked = set()
    for text in cel:
        for pattern in patterns:
            text = re.sub(pattern, _mask, text)
        masked.add(text)
    return frozenset(text for text in masked if _MASKED_CLASSES not in text)


def _found(pattern: str, cel: Iterable[str]) -> str | None:
    """What the pattern's group finds first."""
    matches = (re.search(pattern, text) for text in cel)
    return next((match[1] for match in matches if match), None)


@cache
def _of_kubernetes(policy: PolicyName, pattern: str) -> frozenset[str]:
    """The entries of a list that a stack without any setting has."""
    [default] = (each for each in policies(PoliciesConfig()) if each.name is policy)
    cel = (*(each.expression for each in default.validations), *default.variables.values())
    return frozenset(json.loads(_found(pattern, cel) or "[]"))


def _mask(match: re.Match[str]) -> str:
    start, end = (position - match.start() for position in match.span(1))
    return f"{match[0][:start]}_{match[0][end:]}"


def _flag(policies: tuple[PolicyName, ...], words: str, *patterns: str) -> ListSetting:
    """A setting that allows one thing or does not."""
    return ListSetting(
        policies, patterns, words, read=lambda value: frozenset({""}) if value == "true" else frozenset()
    )


def _anywhere(annotation: str) -> str:
    """`components.policies.request.unrestricted`."""
    return f"(false|!{re.escape(is_listed(annotation))})"


def _unverified(found: str) -> Allowed:
    return frozenset(get_args(VerifiedKind)) - frozenset(json.loads(found))


def _regions(found: str) -> Allowed:
    return frozenset(json.loads(found)) or None


def _tolerations(found: str) -> Allowed:
    if found == "true":
        return None
    entries = [entry for each in re.findall(_LIST, found) for entry in json.loads(each)]
    return frozenset(entries) | {f"{_EXCEPT}{json.loads(each)}" for each in re.findall(rf"matches\({_STRING}\)", found)}


def _includes(one: str, other: str) -> bool:
    """Whether an entry of a list includes another: `name/*` for all below, `*.name` for hosts."""
    if one.startswith(_EXCEPT):
        return re.search(one.removeprefix(_EXCEPT), other) is None
    below = one.endswith("/*") and other.startswith(one[:-1])
    return one == other or below or (one.startswith("*.") and other.endswith(one[1:]))


def _shown(entries: Iterable[str]) -> str:
    told = (entry for entry in entries if entry not in _ALWAYS)
    return counted((_USUAL_TAINTS if entry.startswith(_EXCEPT) else entry for entry in told), "")


_NOTIFICATIONS = (PolicyName.NOTIFICATION_ADDRESSES, PolicyName.NOTIFICATION_SECRETS)
_CLAIMS = (PolicyName.VOLUME_CLAIMS, PolicyName.VOLUME_CLASSES)
_CLASSES = rf"variables\.classes\.all\(class, class in {_LIST}\)"
# The validation is missing if any class is allowed.
_MASKED_CLASSES = "variables.classes.all(class, class in _)"

SETTINGS: tuple[Setting, ...] = (
    ListSetting(
        (PolicyName.SERVICE_EXPOSURE,),
        (rf"variables\.type in {_LIST}",),
        "create Services of type {}",
        annotation=SERVICE_TYPES,
    ),
    ListSetting(
        (PolicyName.LOAD_BALANCERS,), (rf"^entries={_LIST}$",), "set the annotation {} of load balancers", adds=True
    ),
    ListSetting(
        (PolicyName.LOAD_BALANCERS,),
        (rf"variables\.class in {_LIST}",),
        "choose the class {} of load balancers",
        adds=True,
    ),
    ListSetting(
        (PolicyName.PRIORITY_CLASSES,), (rf"variables\.class in {_LIST}",), "use the PriorityClass {}", adds=True
    ),
    ListSetting(
        (PolicyName.ALLOWED_IMAGES,),
        (rf"^entries=\({_LIST} \+",),
        "run images of {}",
        "run any image",
        annotation=IMAGES,
        anywhere=rf"{_anywhere(IMAGES)} \|\| size\(variables\.foreign\)",
    ),
    _flag(
        (PolicyName.ALLOWED_IMAGES,),
        "run images by tag",
        rf"{_FLAG} \|\| size\(variables\.undigested\)",
    ),
    ListSetting(
        (PolicyName.ALLOWED_SOURCES,),
        (rf"^entries=\({_LIST} \+",),
        "fetch sources from {}",
        "fetch sources from any URL",
        annotation=SOURCES,
    ),
    _flag(
        (PolicyName.ALLOWED_SOURCES, PolicyName.SOURCE_OPTIONS),
        "fetch sources without TLS",
        rf"^encrypted={_FLAG} \|\|",
        rf"\({_FLAG} \|\| object\.spec\.sts\.endpoint",
    ),
    ListSetting(
        (PolicyName.SOURCE_OPTIONS,),
        (rf"!variables\.cloud \|\| variables\.provider in {_LIST}", rf"object\.spec\.sts\.provider in {_LIST}"),
        "let sources log in to the cloud {}",
    ),
    ListSetting(
        (PolicyName.SOURCE_OPTIONS,),
        (rf"size\({_LIST}\) == 0 \|\|", rf"object\.spec\.region in {_LIST}"),
        "fetch from Buckets in the region {}",
        "fetch from Buckets in any region",
        read=_regions,
    ),
    _flag(
        (PolicyName.SOURCE_OPTIONS,),
        "let sources trust certificate authorities of their own choice",
        rf"{_FLAG} \|\| \(!has\(object\.spec\.certSecretRef",
    ),
    _flag(
        (PolicyName.SOURCE_OPTIONS,),
        "fetch Git submodules of any URL",
        rf"{_FLAG} \|\| !object\.spec\.\?recurseSubmodules",
    ),
    ListSetting(
        (PolicyName.VERIFIED_SOURCES,),
        (rf"^kinds={_LIST} \+",),
        "fetch {} objects whose content is not verified",
        read=_unverified,
        annotation=VERIFIED,
        forbids=True,
    ),
    ListSetting(
        _NOTIFICATIONS,
        (rf"^entries=\({_LIST} \+",),
        "send notifications to {}",
        annotation=NOTIFICATIONS,
    ),
    ListSetting(
        (PolicyName.NOTIFICATION_ADDRESSES,), (rf"variables\.types\[0\] in {_LIST}$",), "write Providers of the type {}"
    ),
    _flag(_NOTIFICATIONS, "send notifications without TLS", rf"\({_FLAG} \|\| variables\.origins\.all"),
    BoundSetting(
        (PolicyName.RECONCILIATION_INTERVAL,),
        (r'>= duration\("([^"]+)"\)', r'orValue\("([^"]+)"\)'),
        "let Flux reconcile every {}",
        "let Flux reconcile more often than every {}",
        least=True,
    ),
    BoundSetting(
        (PolicyName.RECONCILIATION_TIMEOUT,),
        (r'<= duration\("([^"]+)"\)',),
        "set timeouts of up to {}",
        "set timeouts of more than {}",
    ),
    BoundSetting(
        (PolicyName.POD_IDENTITY,),
        (r"> ([0-9]+)\)",),
        "mount tokens that are valid for up to {}",
        "mount tokens that are valid for more than {}",
        read=float,
    ),
    ListSetting(
        (PolicyName.NODE_PLACEMENT,),
        (r"\.filter\(toleration, !(.*?)\)\.map\(toleration",),
        "tolerate {}",
        "tolerate every taint",
        read=_tolerations,
    ),
    _flag(
        (PolicyName.NODE_PLACEMENT,),
        "choose a node by its name",
        rf'{_FLAG} \|\| !\("kubernetes\.io/hostname" in',
    ),
    ListSetting(_CLAIMS, (_CLASSES,), "claim volumes of the StorageClass {}", "claim volumes of any StorageClass"),
    ListSetting(
        (PolicyName.POD_VOLUMES,),
        (rf"volume\.csi\.driver in {_LIST}",),
        "mount volumes of the CSI driver {} without a claim",
    ),
    ListSetting((PolicyName.POD_VOLUMES,), (rf"!\(key in {_LIST}",), "mount {} volumes without a claim", adds=True),
    _flag(
        (PolicyName.DISRUPTION_BUDGETS,),
        "create PodDisruptionBudgets that block node drains",
        rf"{_FLAG} \|\| \(string\(object\.spec\.\?maxUnavailable",
    ),
    ListSetting(
        (PolicyName.ALLOWED_HOSTS,),
        (rf"^entries=\({_LIST} \+",),
        "publish the host {}",
        "publish any host",
        annotation=HOSTS,
        anywhere=rf"^anywhere={_anywhere(HOSTS)}$",
    ),
    _flag(
        (PolicyName.INGRESS_SNIPPETS,),
        "write snippets of proxy configuration in Ingresses",
        rf"{_FLAG} \|\| size\(variables\.snippets\)",
    ),
    ListSetting(
        (PolicyName.ALLOWED_KINDS,),
        (rf"{re.escape(RESOURCE)} in \[.*?\] \|\| {re.escape(RESOURCE)} in {_LIST}",),
        "write objects of the kind {}",
        annotation=KINDS,
    ),
    # With an operator of this and of earlier versions.
    ListSetting(
        (PolicyName.UNHELD_DELETION,),
        (rf"{_LIST} (?:\+ \(|\|\| )request\.resource\.resource ",),
        "set the finalizer {}",
        adds=True,
    ),
    BoundSetting(
        (PolicyName.RELEASE_SIZE,),
        (r"variables\.characters <= ([0-9]+)",),
        "store Helm releases of up to {}",
        "store Helm releases of more than {}",
        read=float,
        shown=lambda characters: f"{characters * 3 / 4 / 1024:.0f} KiB",
    ),
    BoundSetting(
        (PolicyName.UNHELD_DELETION,),
        (r"terminationGracePeriodSeconds\.orValue\(0\) > ([0-9]+) &&",),
        "run pods that may take up to {} to end",
        "run pods that may take more than {} to end",
        read=float,
    ),
    *(ExceptionSetting((PolicyName(policy),)) for policy in ExceptedPolicy),
)
"""All settings, in the order of docs/policies.md."""

# CEL that follows from a setting.
_FOLLOWING: Mapping[PolicyName, tuple[str, ...]] = {
    PolicyName.NOTIFICATION_SECRETS: (rf"^git='address' in variables\.data \? \[\] : \({_LIST} \+",),
    PolicyName.SERVICE_EXPOSURE: (rf"{_FLAG} \|\| object\.spec\.\?loadBalancerIP",),
}
