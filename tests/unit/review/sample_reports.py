"""Reports about renders made by hand."""

from __future__ import annotations

from sample_objects import render_of

from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.model import Report, StackReport


def side(*objects: RenderedObject, stack: str = "staging", **sections: object) -> Side:
    """A version of a stack."""
    return Side(StackFile(f"Pulumi.{stack}.yaml", sections), render_of(*objects, stack=stack))


def compared(before: Side | None, after: Side | None, stack: str = "staging", note: str = "") -> StackReport:
    """What a change does to a stack."""
    return stack_report(stack, before, after, note=note)


def report(*stacks: StackReport) -> Report:
    """A report of a change that is to be merged into main."""
    return Report("main", "0123456789abcdef", stacks)
