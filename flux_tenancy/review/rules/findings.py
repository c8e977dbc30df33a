"""What a rule finds in a stack, and whether a waiver allows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.stack.decisions import RuleName, Waiver
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

WAIVE = "or agree on a waiver with a reason and an expiry date in review.waivers:"
"""The end of a remedy, before the name of the rule."""


@dataclass(frozen=True)
class Finding:
    """One thing that breaks a rule.

    Attributes:
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
        waivers: the waivers of the stack; of several for the same finding, the one that expires last counts.
    """
    lasting = sorted(waivers, key=lambda each: each.expires, reverse=True)
    return tuple(_with_waiver(finding, lasting) for finding in findings)


def _with_waiver(finding: Finding, waivers: Iterable[Waiver]) -> Finding:
    waiver = next((each for each in waivers if each.rule is finding.rule and _is_about(each, finding)), None)
    return Finding(finding.rule, finding.owner, finding.resource, finding.message, waiver)


def _is_about(waiver: Waiver, finding: Finding) -> bool:
    return waiver.resource in (None, finding.resource)


def as_text(found: Mapping[str, Sequence[Finding]]) -> str:
    """The findings of each stack, those that are not waived first."""
    return "\n".join(line for stack, each in found.items() for line in _of_stack(stack, each))


def as_json(found: Mapping[str, Sequence[Finding]]) -> str:
    """A list with a mapping for each finding; `waiver` is null where there is none."""
    records = [{"stack": stack} | record(finding) for stack, each in found.items() for finding in each]
    return json.dumps(records, indent=2)


def record(finding: Finding) -> dict[str, object]:
    """A finding for programs."""
    waiver = finding.waiver
    return {
        "rule": finding.rule,
        "code": finding.message.code,
        "owner": finding.owner,
        "resource": finding.resource,
        "message": finding.message.sentence,
        "remedy": finding.message.remedy,
        "waiver": {"reason": waiver.reason, "expires": str(waiver.expires)} if waiver else None,
    }


def described(finding: Finding) -> str:
    """The rule that is broken, whose object breaks it, and how, on one line."""
    owner = "" if finding.owner == PLATFORM else f" of tenant {printable(finding.owner)}"
    return f"{finding.rule}{owner}: {finding.resource} {coded(finding.message.sentence)}"


def waiver_text(waiver: Waiver) -> str:
    """How long and why something is waived, on one line."""
    return f"waived until {waiver.expires}: {printable(waiver.reason)}"


def _of_stack(stack: str, found: Iterable[Finding]) -> Iterator[str]:
    breaking = [finding for finding in found if finding.waiver is None]
    waived = [finding for finding in found if finding.waiver is not None]
    count = f"{len(breaking) or 'no'} finding{'s' if len(breaking) != 1 else ''}"
    yield f"{stack}: {count}{f', {len(waived)} waived' if waived else ''}"
    for finding in [*breaking, *waived]:
        yield f"  {described(finding)}"
        if finding.waiver is None:
            yield f"    remedy: {finding.message.remedy}"
        else:
            yield f"    {waiver_text(finding.waiver)}"
