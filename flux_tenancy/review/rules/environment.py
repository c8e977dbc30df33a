"""Rules about production environments: policies that refuse, and objects that stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.stack.cluster.protection import TAKEN_ALONG
from flux_tenancy.components.stack.decisions import RuleName
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject
from flux_tenancy.review.rules.findings import WAIVE, Finding, resource_of
from flux_tenancy.review.rules.setting import RuleSetting


def missing_engine(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """A production environment without a policy engine."""
    if setting.production and setting.engine is PolicyEngine.NONE:
        rule = RuleName.NO_POLICY_ENGINE
        message = Message(
            "FT-REV-109",
            "is none in a production environment, so no admission policy applies to tenants",
            f"set policies.engine to native, kyverno or both, {WAIVE} {rule}",
        )
        yield Finding(rule, PLATFORM, "policies.engine", message)


def policies_not_enforced(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Policies of a production environment that are audited or off."""
    rule = RuleName.POLICY_NOT_ENFORCED
    for key, mode in setting.weakened.items() if setting.production else ():
        message = Message(
            "FT-REV-110",
            f"is {mode} in a production environment, so violations are allowed",
            f"set {key} to enforce, {WAIVE} {rule}",
        )
        yield Finding(rule, PLATFORM, key, message)


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
            taken = TAKEN_ALONG[each.kind]
            message = (
                Message("FT-REV-111", f"is protected and would be deleted, with {taken}", f"keep it, {WAIVE} {rule}")
                if key is None
                else Message(
                    "FT-REV-112",
                    f"is protected and would be replaced, which deletes {taken}",
                    f"keep its name in the state and its API version, {WAIVE} {rule}",
                )
            )
            yield Finding(rule, each.owner, resource_of(each), message)
