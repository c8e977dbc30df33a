"""What a rule finds in a stack, and whether a waiver allows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.decisions import RuleName, Waiver
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.review.render.rendered import RenderedObject

WAIVE = "or agree on a waiver with a reason and an expiry date in review.waivers:"
"""The end of a remedy, before the name of the rule."""


@dataclass(frozen=True)
class Finding:
    """One thing that breaks a rule.

    Attributes:
        rule: the rule.
        owner: the tenant that it belongs to, or `review.rendered.PLATFORM`.
        resource: what breaks it, e.g. `RoleBinding apps/dev-team-reconciler` or `policies.mode`; on one line and safe
            for a terminal.
        message: what is wrong and what to do, with its code.
        waiver: the waiver that allows it, or None.
    """

    rule: RuleName
    owner: str
    resource: str
    message: Message
    waiver: Waiver | None = None


def resource_of(subject: RenderedObject) -> str:
    """How findings and waivers name an object."""
    return printable(f"{subject.kind} {name_of(subject.manifest)}")


def waived(findings: Iterable[Finding], waivers: Iterable[Waiver]) -> tuple[Finding, ...]:
    """The findings, each with the waiver that allows it.

    Args:
        findings: findings without waivers.
        waivers: the waivers of the stack; of several for the same finding, the one that expires last counts.
    """
    lasting = sorted(waivers, key=lambda each: each.expires, reverse=True)
    return tuple(_with_waiver(finding, lasting) for finding in findings)


def _with_waiver(finding: Finding, waivers: Iterable[Waiver]) -> Finding:
    waiver = next((each for each in waivers if each.rule is finding.rule and _is_about(each, finding)), None)
    return Finding(finding.rule, finding.owner, finding.resource, finding.message, waiver)


def _is_about(waiver: Waiver, finding: Finding) -> bool:
    return waiver.resource in (None, finding.resource)
