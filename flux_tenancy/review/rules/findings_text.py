"""Findings for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.decisions import Waiver
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.rules.findings import Finding


def as_text(found: Mapping[str, Sequence[Finding]]) -> str:
    """The findings of each stack, those that are not waived first.

    Args:
        found: findings by stack.
    """
    return "\n".join(line for stack, each in found.items() for line in _of_stack(stack, each))


def as_json(found: Mapping[str, Sequence[Finding]]) -> str:
    """A list with a mapping for each finding; `waiver` is null where there is none.

    Args:
        found: findings by stack.
    """
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
