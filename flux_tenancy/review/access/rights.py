"""What subjects gain and lose by RBAC from one render to another, as sentences, the same for many said once.

A statement is about one subject in one place. Statements with the same words are joined: first the places of a
subject, then subjects with the same places; ten tenants that may do the same in their namespaces are one sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from flux_tenancy.components.rbac.rights import (
    CLUSTER,
    KNOWN,
    POWER,
    READ,
    KubernetesRole,
    NamedRole,
    Permission,
    Right,
    Rights,
    in_words,
)
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.tenant.grants import Verb
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANED
from flux_tenancy.review.access.rules import ANYWHERE, LABELED, Access, Gain, Tenants, gains, rbac_access
from flux_tenancy.review.render.rendered import PLATFORM, Render
from flux_tenancy.review.words import Statement, counted

# All namespaces of a tenant, whichever they are.
_OWN = frozenset({"(own)"})
# Accounts that may be impersonated are a high risk each, and Flux has seven controllers.
_MOST_TARGETS, _MOST_SUBJECTS = 20, 8
_NOWHERE = frozenset({ANYWHERE})
PLACE = " \N{SECTION SIGN}"
"""Stands in words for the place, where it is not at their end."""
_ALL, _BOTH, _EVERYONE = "All tenants", "Both tenants", "Everyone with Kubernetes' role "


@dataclass(frozen=True)
class AccessChange:
    """One thing that one subject may do, or may no longer do.

    Attributes:
        words: the sentence after its subject, e.g. `may now read Secrets`.
        widened: whether more is allowed than before.
        place: the namespace; CLUSTER, or ANYWHERE if there is none.
        target: the object of the words, which names its place, e.g. `shop/dev-team` of `may now impersonate`.
    """

    words: str
    widened: bool
    high: bool
    subject: Subject
    place: str = ANYWHERE
    target: str = ""


@dataclass(frozen=True)
class _Said:
    """What the statements of one sentence have in common."""

    words: str
    widened: bool
    high: bool
    is_tenant: bool
    places: frozenset[str]
    targets: frozenset[str]


def join(statements: Iterable[AccessChange], tenants: Tenants, everyone: Collection[str]) -> list[Statement]:
    """The statements, the same for many joined, what widens most first, and Flux's own accounts last.

    Of what is narrowed, nothing is a risk.

    Args:
        statements: each about one subject in one place.
        tenants: the tenants with their namespaces.
        everyone: the names of the tenants whom `all tenants` stands for.
    """
    by_subject: dict[tuple[str, bool, bool, Subject], set[tuple[str, str]]] = defaultdict(set)
    for each in statements:
        by_subject[each.words, each.widened, each.high, each.subject].add((each.place, each.target))
    subjects: dict[_Said, set[Subject]] = defaultdict(set)
    reach: dict[_Said, set[str]] = defaultdict(set)
    for (words, widened, high, subject), found in by_subject.items():
        places, targets = (frozenset(column) for column in zip(*found, strict=True))
        is_tenant = subject.kind is SubjectKind.TENANT
        own = tenants.by_name.get(subject.name) if is_tenant else None
        told = _NOWHERE if targets != {""} else _OWN if places == own else places
        said = _Said(words, widened, high, is_tenant, told, targets - {""})
        subjects[said].add(subject)
        reach[said] |= places
    ranked = [
        (
            not said.widened,
            _is_routine(said, found),
            not said.high,
            said.places != {CLUSTER},
            -len(found),
            _joined(said, sorted(found), reach[said], tenants, everyone),
        )
        for said, found in subjects.items()
    ]
    return [each for *_, each in sorted(ranked, key=lambda row: (*row[:-1], row[-1].access))]


def _is_routine(said: _Said, subjects: Collection[Subject]) -> bool:
    """Whether it is about what accounts of Flux's controllers have in the namespaces of every tenant."""
    is_of_flux = all(each.namespace == FLUX_NAMESPACE for each in subjects)
    return is_of_flux and said.places != {CLUSTER} and not (said.high and said.widened)


def _joined(
    said: _Said, subjects: Sequence[Subject], places: Collection[str], tenants: Tenants, everyone: Collection[str]
) -> Statement:
    named = {each.name for each in subjects if each.kind is SubjectKind.TENANT}
    owners = named or {tenants.namespaces.get(place, PLATFORM) for place in places}
    owner = next(iter(owners)) if len(owners) == 1 else PLATFORM
    is_one = len(subjects) < 2 and LABELED not in named
    words = said.words if is_one else re.sub("^(gain|lose|become)s ", r"\1 ", said.words)
    who, where = _who(subjects, everyone), _where(said.places, subjects, tenants)
    may = f"{words} {counted(sorted(said.targets), most=_MOST_TARGETS)}".rstrip()
    if PLACE in may:
        text, may = f"{who} {may.replace(PLACE, f' {where}')}", may.replace(PLACE, "")
    else:
        text = " ".join(filter(None, (who, may, where)))
    return Statement(
        PLATFORM if owner == LABELED else owner,
        text.removesuffix(","),
        said.widened and said.high,
        names_owner=True,
        matters="access",
        access=(who, may.removesuffix(","), where),
    )


def _name_of(subject: Subject) -> str:
    """How a sentence names one subject."""
    match subject.kind:
        case SubjectKind.ACCOUNT:
            return f"{subject.namespace}/{subject.name}"
        case SubjectKind.USER | SubjectKind.GROUP:
            return f"{subject.kind.lower()} {subject.name}"
        case SubjectKind.ROLE:
            return f"{_EVERYONE}{subject.name}"
    return subject.name


def _who(subjects: Sequence[Subject], everyone: Collection[str]) -> str:
    names = sorted({each.name for each in subjects}, key=lambda name: (name == LABELED, name))
    if {each.kind for each in subjects} == {SubjectKind.ROLE}:
        return f"{_EVERYONE}{' or '.join(names)}"
    if {each.kind for each in subjects} != {SubjectKind.TENANT}:
        return counted(map(_name_of, subjects), "others", most=_MOST_SUBJECTS)
    if len(names) > 1 and set(names) == set(everyone):
        return _ALL if LABELED in names else _BOTH if len(names) == 2 else f"All {len(names)} tenants"
    return LABELED.capitalize() if names == [LABELED] else counted(names, "tenants")


def _where(places: frozenset[str], subjects: Sequence[Subject], tenants: Tenants) -> str:
    if places == _OWN:
        if len(subjects) > 1 or subjects[0].name == LABELED:
            return "in their namespaces"
        places = tenants.by_name[subjects[0].name]
    if places == {CLUSTER}:
        return "in the whole cluster"
    if places == _NOWHERE:
        return ""
    names = [name for name in sorted(places) if name != LABELED]
    if LABELED in places:
        names.append(f"the namespaces of {LABELED}")
    return f"in {counted(names, 'namespaces')}"


_IMPERSONATE = "impersonate"
# What of Kubernetes' roles is named; the rest is counted.
_TELLING = frozenset(
    {
        ("create", "rolebindings"),
        ("create", "roles"),
        ("create", "networkpolicies"),
        ("create", "pods/exec"),
        ("create", "serviceaccounts/token"),
        ("impersonate", "serviceaccounts"),
        ("list", "secrets"),
    }
)
# API groups whose resources are known by their names alone.
_FAMILIAR, _FAMILIAR_DOMAINS = ("apps", "autoscaling", "batch", "policy"), (".k8s.io", ".fluxcd.io")
_SECRETS = ("secrets", "serviceaccounts/token")


def access_changes(before: Render | None, after: Render | None) -> tuple[Statement, ...]:
    """What a stack's subjects may do after a change that they may not do before it, and the reverse, widest first.

    Only objects of the render count: what others have bound in the cluster is not in it.

    Args:
        before: what the stack applies now; None for a new stack.
        after: what it would apply; None for a stack that is removed.
    """
    old, new = (rbac_access(each.objects if each else ()) for each in (before, after))
    statements = list(rights_statements(old, new))
    staying = set(old.tenants.by_name) & set(new.tenants.by_name) or set(old.tenants.by_name)
    return (
        *join((each for each in statements if each.widened), new.tenants, set(new.tenants.by_name)),
        *join((each for each in statements if not each.widened), old.tenants, staying),
    )


def rights_statements(old: Access, new: Access) -> Iterator[AccessChange]:
    """What subjects may do by RBAC now, and what they may no longer do."""
    for widened, before, after in ((True, old, new), (False, new, old)):
        for gain in gains(before, after):
            # A namespace that comes with the change holds no Secrets yet.
            taken = _taken_over(gain, before, after)
            is_new = gain.place in after.tenants.namespaces and gain.place not in before.tenants.namespaces
            # Without an earlier version, nothing is routine: this is a list of all access.
            had = before.of(gain.subject, gain.place)
            yield from _statements(gain, widened, is_new, widened and is_new and bool(old.grants), taken, had)


def is_high(gain: Gain, right: Right, in_new_namespace: bool = False) -> bool:
    """Whether a right is a high risk: of the whole cluster or of everybody, over others, or over secrets."""
    subject = gain.subject
    if gain.place == CLUSTER or subject.is_everybody:
        return True
    if isinstance(right, NamedRole):
        return right.name != KubernetesRole.VIEW
    # Every other verb is a right over other rights or users: bind, escalate, impersonate, impersonate:serviceaccount, …
    if right.verb not in get_args(Verb) or right.resource == "*" or right.group == "*":
        return True
    return right.resource in _SECRETS and not in_new_namespace


def _taken_over(gain: Gain, before: Access, after: Access) -> frozenset[Right]:
    """The rights that the same controller of another lane, or of none, loses in the same place."""
    controller = _controller(gain.subject)
    if controller is None or gain.place == CLUSTER:
        return frozenset()
    others = [each for each, place in before.grants if place == gain.place and _controller(each) == controller]
    return frozenset(
        right
        for right in gain.rights
        if any(
            before.of(each, gain.place).allows(right) and not after.of(each, gain.place).allows(right)
            for each in others
        )
    )


def _controller(subject: Subject) -> str | None:
    is_of_flux = subject.kind is SubjectKind.ACCOUNT and subject.namespace == FLUX_NAMESPACE
    return next((each for each in LANED if is_of_flux and subject.name.startswith(each)), None)


def _statements(
    gain: Gain, widened: bool, is_new: bool, is_onboarded: bool, taken: Collection[Right], had: Rights
) -> Iterator[AccessChange]:
    may, gains = ("may now", "gains") if widened else ("may no longer", "loses")

    def statement(words: str, high: bool, target: str = "") -> AccessChange:
        return AccessChange(words, widened, high, gain.subject, gain.place, target)

    for role, rights in gain.roles.items():
        hint = " (read only)" if all(right.verb in READ for right in rights) else ""
        yield statement(f"{gains} the role {role}{hint}", any(is_high(gain, right, is_new) for right in rights))
    by_risk: dict[bool, list[Permission]] = {True: [], False: []}
    for right in gain.rights:
        if isinstance(right, NamedRole):
            words = _becomes(right, had) if widened and had.all and right.name in KNOWN else _of_role(right, may, gains)
            yield statement(words, is_high(gain, right))
        elif right.verb == _IMPERSONATE and right.resource == "serviceaccounts" and gain.place != CLUSTER:
            account = f"{gain.place}/{right.name}" if right.name else f"every service account of {gain.place}"
            # Flux acts as the accounts of every tenant; those of a new namespace have nothing but their own rights.
            is_routine = is_onboarded and right.name != "" and gain.subject.namespace == FLUX_NAMESPACE
            yield statement(f"{may} impersonate", not (is_routine or right in taken), account)
        else:
            # Of what is narrowed, no part is a risk.
            by_risk[widened and right not in taken and is_high(gain, right, is_new)].append(right)
    for high, found in by_risk.items():
        if found:
            yield statement(f"{may} {rights_in_words(found)}", high)


def _becomes(role: NamedRole, had: Rights) -> str:
    """What one of Kubernetes' roles adds to other rights, for a sentence that is told with its place in between."""
    added = [right for each in KNOWN[role.name] if not had.allows(right := Permission(*each))]
    telling = [right for right in added if (right.verb, right.resource) in _TELLING]
    rest = f"{len(added) - len(telling)}{' more' if telling else ''} rights"
    return f"becomes {role.name}{PLACE}: adds {', and '.join(filter(None, (rights_in_words(telling), rest)))}"


def _of_role(role: NamedRole, may: str, gains: str) -> str:
    if role.name == KubernetesRole.CLUSTER_ADMIN:
        return f"{may} do everything (cluster-admin)"
    if role.name in POWER:
        return f"{gains} Kubernetes' role {role.name}"
    return f"{gains} the role {role.name}, which this stack does not define,"


def rights_in_words(rights: Collection[Permission]) -> str:
    """Rights after `may`: `read secrets; create pods/exec`; groups whose resources everybody knows are left out."""
    found = in_words([replace(each, group="") if _is_familiar(each) else each for each in rights])
    verbs = {"everything": "do ", "all verbs": "use "}
    return "; ".join(next((verb for what, verb in verbs.items() if each.startswith(what)), "") + each for each in found)


def _is_familiar(right: Permission) -> bool:
    is_known = right.group in _FAMILIAR or right.group.endswith(_FAMILIAR_DOMAINS)
    return is_known and "*" not in right.resource
