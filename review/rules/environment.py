"""Rules about production environments: policies that refuse, and objects that stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from components.policies.config import PolicyEngine
from components.stack.protection import TAKEN_ALONG
from components.stack.review_rules import RuleName
from review.render.rendered import PLATFORM, RenderedObject
from review.rules.findings import Finding, resource_of
from review.rules.setting import RuleSetting
from review.rules.wordings import (
    NO_POLICY_ENGINE,
    POLICY_NOT_ENFORCED,
    PROTECTED_DELETED,
    PROTECTED_REPLACED,
    UNPROTECTED,
)


def missing_engine(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """A production environment without a policy engine."""
    if setting.production and setting.engine is PolicyEngine.NONE:
        rule = RuleName.NO_POLICY_ENGINE
        yield Finding(rule, PLATFORM, "policies.engine", NO_POLICY_ENGINE(rule=rule))


def policies_not_enforced(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Policies of a production environment that are audited or off."""
    rule = RuleName.POLICY_NOT_ENFORCED
    for key, mode in setting.weakened.items() if setting.production else ():
        yield Finding(rule, PLATFORM, key, POLICY_NOT_ENFORCED(mode=mode, key=key, rule=rule))


def protected_deletions(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Finding]:
    """Protected namespaces and CRDs that a change would delete or replace.

    Args:
        before: what is applied now; what it protects counts, so that no change lifts a protection and uses it at once.
        after: what would be applied.
    """
    staying = {(each.kind, each.name): each.key for each in after if each.kind in TAKEN_ALONG}
    rule = RuleName.PROTECTED_DELETION
    for each in before:
        key = staying.get((each.kind, each.name))
        if each.protected and key != each.key:
            wording = PROTECTED_DELETED if key is None else PROTECTED_REPLACED
            yield Finding(rule, each.owner, resource_of(each), wording(taken=TAKEN_ALONG[each.kind], rule=rule))


def unprotected(subject: RenderedObject, is_protected: bool, setting: RuleSetting) -> Iterator[Finding]:
    """A namespace or CRD of a protected stack that is registered without protection.

    That is on purpose for the namespaces of a leaving tenant, and rare otherwise: if a namespace is lost, or if the
    cluster was replaced, the program protects what it has replaced in the next update.

    Args:
        subject: an object.
        is_protected: whether it has Pulumi's option `protect`.
        setting: the stack.
    """
    is_leaving = subject.kind == "Namespace" and subject.name in setting.leaving
    if setting.protected and subject.kind in TAKEN_ALONG and not is_protected and not is_leaving:
        rule = RuleName.PROTECTED_DELETION
        message = UNPROTECTED(taken=TAKEN_ALONG[subject.kind], rule=rule)
        yield Finding(rule, subject.owner, resource_of(subject), message)
