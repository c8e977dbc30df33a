"""Reports about renders made by hand."""

from __future__ import annotations

from markdown_it import MarkdownIt
from sample_objects import render_of

from flux_tenancy.components.config.types import today
from flux_tenancy.components.stack.config import RuleName, Waiver
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.model import Report, StackReport
from flux_tenancy.review.rules.table import Finding
from tests.support.messages import said


def side(*objects: RenderedObject, stack: str = "staging", **sections: object) -> Side:
    """A version of a stack."""
    return Side(StackFile(f"Pulumi.{stack}.yaml", sections), render_of(*objects, stack=stack))


def compared(before: Side | None, after: Side | None, stack: str = "staging", note: str = "") -> StackReport:
    """What a change does to a stack."""
    return stack_report(stack, before, after, note=note)


def report(*stacks: StackReport) -> Report:
    """A report of a change that is to be merged into main."""
    return Report("main", "0123456789abcdef", stacks)


def waived_and_violated(reason: str) -> tuple[Finding, Finding]:
    """A finding with a waiver that ends today, and one without."""
    binding = said("FT-REV-101", "a", "b", "c", "d", RuleName.ADMIN_BINDING)
    waiver = Waiver(rule=RuleName.ADMIN_BINDING, reason=reason, expires=today())
    engine = said("FT-REV-110", "none", "b", "c", "d", RuleName.NO_POLICY_ENGINE)
    return (
        Finding(RuleName.ADMIN_BINDING, "dev-team", "RoleBinding apps/admin", binding, waiver),
        Finding(RuleName.NO_POLICY_ENGINE, PLATFORM, "policies.engine", engine),
    )


def is_complete(markdown: str) -> bool:
    """Whether every fence, folded part and table of a text is complete."""
    tokens = MarkdownIt("gfm-like").disable("linkify").parse(markdown)
    folded = [token.content for token in tokens if token.type == "html_block"]
    depth = 0
    for content in folded:
        depth += content.count("<details>") - content.count("</details>")
        assert 0 <= depth <= 1
    lines = markdown.splitlines()
    ends = [token.map[1] for token in tokens if token.type == "fence" and token.map]
    return depth == 0 and all(lines[end - 1].lstrip("> ").startswith("```") for end in ends)
