"""The verdicts for a terminal, as JSON, as SARIF and as a comment."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.extensions.tenant_check.envelope import Envelope
from flux_tenancy.extensions.tenant_check.judge import Outcome, Verdict
from flux_tenancy.extensions.tenant_check.openings import merged, needed_limits
from flux_tenancy.review.words import code, fenced, inline
from flux_tenancy.version import VERSION

_WIDTH = 100
_NAMED = 5
_INDENT = " " * 4


@dataclass(frozen=True)
class Report:
    """The verdicts on a repository.

    Attributes:
        envelope: what has decided.
        verdicts: one for each object.
        unrendered: what was not checked because it was not rendered.
    """

    envelope: Envelope
    verdicts: Sequence[Verdict]
    unrendered: Sequence[str]

    @property
    def is_refused(self) -> bool:
        return any(each.is_refused for each in self.verdicts)

    @property
    def summary(self) -> str:
        """How many objects have each outcome."""
        counts = Counter(each.outcome for each in self.verdicts)
        parts = ", ".join(
            f"{count} {outcome if count == 1 else outcome.replace('needs', 'need')}"
            for outcome in Outcome
            if (count := counts[outcome])
        )
        objects = "1 object" if len(self.verdicts) == 1 else f"{len(self.verdicts)} objects"
        return f"{objects}: {parts}" if parts else "no objects"

    @property
    def basis(self) -> str:
        """What the verdicts are for."""
        own, versions = self.envelope, self.envelope.versions
        made = f", made {own.made}" if own.made else ""
        return (
            f"tenant {own.tenant} in stack {own.stack}, Flux {versions['flux']}, Kubernetes {versions['kubernetes']}"
            f"{made}, {own.digest[:19]}"
        )

    @property
    def patches(self) -> dict[str, Any]:
        """By file of the platform's repository, what accepts the objects that need an opening or more quota."""
        openings = [each.opening for each in self.verdicts if each.opening]
        limits = needed_limits(each.message for each in self.verdicts if each.outcome is Outcome.QUOTA)
        tenant = merged([*(each.tenant for each in openings), *([{"limits": limits}] if limits else [])] or [{}])
        stack = merged([each.stack for each in openings] or [{}])
        sections = {f"flux-tenancy:{key}": value for key, value in stack.items()}
        files = {
            f"tenants/{self.envelope.tenant}.yaml": tenant,
            f"Pulumi.{self.envelope.stack}.yaml": {"config": sections} if sections else {},
        }
        return {name: content for name, content in files.items() if content}

    def used(self, verdict: Verdict) -> str:
        """What the cluster has used of the quotas of an object's namespace, if the envelope says so."""
        if verdict.outcome is not Outcome.QUOTA:
            return ""
        named = (name for each in self.envelope.quotas if (name := name_of(each)).partition("/")[2] in verdict.message)
        uses = [f"{key}={value}" for name in named for key, value in self.envelope.used.get(name, {}).items()]
        mentioned = [each for each in uses if f"{each.partition('=')[0]}=" in verdict.message]
        return f"; in the cluster when the envelope was made: {', '.join(mentioned)}" if mentioned else ""


def as_text(report: Report) -> str:
    """For a terminal of 100 columns."""
    lines = [f"{report.summary} ({report.basis})"]
    for each, more in _shown(report):
        place = f"  {each.found.file}:{each.found.line}" if each.found.file else ""
        lines += ["", f"{each.outcome}: {each.object}{place}{more}", *_wrapped(_why(report, each))]
        if each.opening and each.opening.setting:
            lines += _wrapped(f"setting of the platform team: {each.opening.setting}")
    if report.unrendered:
        lines += ["", "Not rendered, so not checked:", *(line for each in _some(report) for line in _wrapped(each))]
    for file, content in report.patches.items():
        lines += ["", f"For the platform team, to add in {file}:", textwrap.indent(_yaml(content), _INDENT).rstrip()]
    return "\n".join(lines)


def as_json(report: Report) -> str:
    """For programs."""
    own = report.envelope
    found = [
        {
            "object": each.object,
            "file": each.found.file,
            "line": each.found.line,
            "outcome": each.outcome,
            "rule": each.rule,
            "message": each.message + report.used(each),
            "warnings": each.warnings,
            "opening": None if each.opening is None else vars(each.opening),
        }
        for each in report.verdicts
    ]
    envelope = {"tenant": own.tenant, "stack": own.stack, "digest": own.digest, "made": own.made, **own.versions}
    whole = {"envelope": envelope, "objects": found, "unrendered": report.unrendered, "patches": report.patches}
    return json.dumps(whole, indent=2)


def as_sarif(report: Report) -> str:
    """For a code host. Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html"""
    shown = [each for each in report.verdicts if each.outcome is not Outcome.ACCEPTED]
    results = [
        {
            "ruleId": each.rule,
            "level": "error" if each.is_refused else "note",
            "message": {"text": f"{each.object}: {each.outcome}: {each.message}{report.used(each)}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": each.found.file or "."},
                        "region": {"startLine": each.found.line},
                    }
                }
            ],
        }
        for each in shown
    ]
    rules = [{"id": rule} for rule in dict.fromkeys(each.rule for each in shown)]
    driver = {"name": "flux-tenancy check", "version": VERSION, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    runs = [{"tool": {"driver": driver}, "results": results}]
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": runs}, indent=2)


def as_markdown(report: Report) -> str:
    """For a comment."""
    mark = "❌" if report.is_refused else "✅"
    lines = [f"### {mark} {report.summary}", "", f"Checked for {inline(report.basis)}."]
    shown = _shown(report)
    if shown:
        lines += ["", "| Object | | Why, and what to write instead |", "| --- | --- | --- |"]
    for each, more in shown:
        place = f"<br>{code(f'{each.found.file}:{each.found.line}')}" if each.found.file else ""
        why = inline(_why(report, each)).replace("\n", " ")
        lines.append(f"| {code(each.object)}{place}{more} | {each.outcome} | {why} |")
    if report.unrendered:
        lines += ["", f"Not rendered, so not checked: {'; '.join(map(inline, _some(report)))}."]
    for file, content in report.patches.items():
        lines += ["", f"For the platform team, to add in `{file}`:", "", fenced(_yaml(content).splitlines(), "yaml")]
    return "\n".join(lines)


def _shown(report: Report) -> list[tuple[Verdict, str]]:
    """What is not simply accepted, each message once, with how many further objects have the same."""
    groups: dict[tuple[str, ...], list[Verdict]] = {}
    for each in report.verdicts:
        if each.outcome is not Outcome.ACCEPTED or each.warnings:
            groups.setdefault((each.outcome, each.rule, each.message, *each.warnings), []).append(each)
    return [
        (first, f", and {len(others)} more with the same message" if others else "")
        for first, *others in groups.values()
    ]


def _some(report: Report) -> list[str]:
    """The first files that were not rendered, and how many more there are."""
    more = len(report.unrendered) - _NAMED
    return [*report.unrendered[:_NAMED], *([f"and {more} more"] if more > 0 else [])]


def _why(report: Report, verdict: Verdict) -> str:
    why = f"{verdict.rule}: {verdict.message}{report.used(verdict)}" if verdict.rule else ""
    return "; ".join([*([why] if why else []), *(f"warning: {each}" for each in verdict.warnings)])


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )


def _yaml(content: Any) -> str:
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, width=_WIDTH)
