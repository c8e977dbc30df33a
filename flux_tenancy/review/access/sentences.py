"""From single statements about subjects to sentences for reviewers, the same for many said once.

A statement is about one subject in one place. Statements with the same words are joined: first the places of a
subject, then subjects with the same places; ten tenants that may do the same in their namespaces are one sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE
from flux_tenancy.review.access.rules import ANYWHERE, LABELED, Tenants
from flux_tenancy.review.render.rendered import PLATFORM
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
