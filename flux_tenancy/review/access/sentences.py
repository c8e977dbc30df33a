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
from flux_tenancy.review.words import listed

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
        words: the sentence after its subject, e.g. `may now read Secrets`; without a subject the whole of it.
        widened: whether more is allowed than before.
        subject: who; None if the words name it.
        place: the namespace; CLUSTER, or ANYWHERE if there is none.
        target: the object of the words, which names its place, e.g. `shop/dev-team` of `may now impersonate`.
    """

    words: str
    widened: bool
    high: bool
    subject: Subject | None = None
    place: str = ANYWHERE
    target: str = ""


@dataclass(frozen=True)
class AccessRow:
    """What some may do, may do now, or may no longer do: statements with the same words, joined.

    Attributes:
        owner: the only tenant that it is about; PLATFORM if there are none or several.
        who: the subjects; empty if the words name them.
        may: what they may do, with its verb: `gains the role view`, `may now run any image`.
        where: `in shop`, `in the whole cluster` and the like; empty if there is no place.
        widened: whether more is allowed than before.
        high: whether a reviewer has to look at it first. Of what is narrowed, nothing is.
    """

    owner: str
    who: str
    may: str
    where: str
    widened: bool
    high: bool

    @property
    def risk(self) -> str:
        """`high` or `normal`."""
        return "high" if self.high else "normal"

    @property
    def text(self) -> str:
        """The sentence as plain text without a period."""
        is_within = PLACE in self.may
        words = [self.may.replace(PLACE, f" {self.where}")] if is_within else [self.may, self.where]
        return " ".join(filter(None, (self.who, *words))).removesuffix(",")

    @property
    def cells(self) -> tuple[str, str, str]:
        """The cells of a table: who, what they may do, and where."""
        return self.who, self.may.replace(PLACE, "").removesuffix(","), self.where


@dataclass(frozen=True)
class _Said:
    """What the statements of one sentence have in common."""

    words: str
    widened: bool
    high: bool
    is_tenant: bool
    places: frozenset[str]
    targets: frozenset[str]


def join(statements: Iterable[AccessChange], tenants: Tenants, everyone: Collection[str]) -> list[AccessRow]:
    """The statements, the same for many joined, what widens most first, and Flux's own accounts last.

    Args:
        statements: each about one subject in one place.
        tenants: the tenants with their namespaces.
        everyone: the names of the tenants whom `all tenants` stands for.
    """
    by_subject: dict[tuple[str, bool, bool, Subject | None], set[tuple[str, str]]] = defaultdict(set)
    for each in statements:
        by_subject[each.words, each.widened, each.high, each.subject].add((each.place, each.target))
    subjects: dict[_Said, set[Subject]] = defaultdict(set)
    reach: dict[_Said, set[str]] = defaultdict(set)
    for (words, widened, high, subject), found in by_subject.items():
        places, targets = (frozenset(column) for column in zip(*found, strict=True))
        tenant = subject.name if subject is not None and subject.kind is SubjectKind.TENANT else None
        own = tenants.by_name.get(tenant) if tenant is not None else None
        told = _NOWHERE if targets != {""} else _OWN if places == own else places
        said = _Said(words, widened, high, tenant is not None, told, targets - {""})
        subjects[said] |= {subject} if subject is not None else set()
        reach[said] |= places
    ranked = [
        (
            (
                not said.widened,
                _is_routine(said, subjects[said]),
                not said.high,
                said.places != {CLUSTER},
                -len(subjects[said]),
            ),
            _joined(said, sorted(subjects[said]), reach[said], tenants, everyone),
        )
        for said in reach
    ]
    return [each for _, each in sorted(ranked, key=lambda pair: (pair[0], pair[1].who, pair[1].may, pair[1].where))]


def name_of(subject: Subject) -> str:
    """How a sentence names one subject."""
    match subject.kind:
        case SubjectKind.ACCOUNT:
            return f"{subject.namespace}/{subject.name}"
        case SubjectKind.USER | SubjectKind.GROUP:
            return f"{subject.kind.lower()} {subject.name}"
        case SubjectKind.ROLE:
            return f"{_EVERYONE}{subject.name}"
    return subject.name


def _is_routine(said: _Said, subjects: Collection[Subject]) -> bool:
    """Whether it is about what accounts of Flux's controllers have in the namespaces of every tenant."""
    is_of_flux = bool(subjects) and all(each.namespace == FLUX_NAMESPACE for each in subjects)
    return is_of_flux and said.places != {CLUSTER} and not (said.high and said.widened)


def _joined(
    said: _Said, subjects: Sequence[Subject], places: Collection[str], tenants: Tenants, everyone: Collection[str]
) -> AccessRow:
    named = {each.name for each in subjects if each.kind is SubjectKind.TENANT}
    owners = named or {tenants.namespaces.get(place, PLATFORM) for place in places}
    owner = next(iter(owners)) if len(owners) == 1 else PLATFORM
    is_one = len(subjects) < 2 and LABELED not in named
    words = said.words if is_one else _plural(said.words)
    targets = counted(sorted(said.targets), "", most=_MOST_TARGETS)
    return AccessRow(
        PLATFORM if owner == LABELED else owner,
        _who(subjects, everyone),
        f"{words} {targets}".rstrip(),
        _where(said.places, subjects, tenants),
        said.widened,
        said.widened and said.high,
    )


def _plural(words: str) -> str:
    for one, many in (("has", "have"), ("uses", "use")):
        words = re.sub(f"^(now|no longer) {one} ", rf"\1 {many} ", words)
    return re.sub("^(gain|lose|become)s ", r"\1 ", words)


def _who(subjects: Sequence[Subject], everyone: Collection[str]) -> str:
    names = sorted({each.name for each in subjects}, key=lambda name: (name == LABELED, name))
    if {each.kind for each in subjects} == {SubjectKind.ROLE}:
        return f"{_EVERYONE}{' or '.join(names)}"
    if {each.kind for each in subjects} != {SubjectKind.TENANT}:
        return counted(map(name_of, subjects), "others", most=_MOST_SUBJECTS)
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


MOST_ITEMS = 5
"""How many items of a list are named; the rest is counted."""


def counted(items: Iterable[str], noun: str, most: int = MOST_ITEMS) -> str:
    """Items as a part of a sentence: `a, b and c`, or `a, b and 3 more namespaces`; empty if there are none."""
    each = list(items)
    if len(each) <= most + 1:
        return all_of(each)
    return f"{listed(each, most)} {noun}".rstrip()


def all_of(items: Sequence[str]) -> str:
    """All items as a part of a sentence, however many; empty if there are none."""
    return listed(items, most=len(items)) if items else ""
