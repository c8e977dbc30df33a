"""The result of `pulumi preview --json` as a block of the comment: which steps, and why resources are replaced.

A block has no values, secret or not, since the report shows what changes; Pulumi itself adds what only the cluster and
the state tell. Its first paragraph makes sense by itself.

Source: `PreviewDigest` in pkg/display/json.go of Pulumi
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flux_tenancy.review.words.escaping import code, inline
from flux_tenancy.review.words.lists import fitting, size_of

PREVIEW_LIMIT = 3_000
"""Bytes of the blocks of all stacks in a comment, which are not in the limit of the report."""
_UNCHANGED = frozenset({"same", "read", "refresh", "import"})
_CHARACTERS = 300
"""Characters of an error that are shown."""
_ERRORS = 5
_AROUND = 100
"""Bytes of what is around the steps, at most."""
_APPROVE = "\n### Approve\n"


class _Step(BaseModel):
    model_config = ConfigDict(strict=True)

    op: str
    urn: str
    replaced_for: list[str] | None = Field(default=None, alias="replaceReasons")
    diff: dict[str, Any] | None = Field(default=None, alias="detailedDiff")


class _Diagnostic(BaseModel):
    message: str = ""
    severity: str = ""


class _Preview(BaseModel):
    steps: list[_Step] = []
    diagnostics: list[_Diagnostic] = []
    summary: dict[str, int] = Field(default={}, alias="changeSummary")


def preview_block(stack: str, output: str, limit: int = PREVIEW_LIMIT) -> str:
    """The result of a preview as Markdown, with at most this many bytes.

    Args:
        stack: name of the stack.
        output: what `pulumi preview --json` has printed; anything else is a preview that failed.
        limit: bytes of the result.
    """
    try:
        found = _Preview.model_validate(json.loads(output))
    except (ValueError, RecursionError, ValidationError):
        return f"**pulumi preview of {inline(stack)}** failed; the log of the run says why."
    counts = [
        f"{count} to {inline(op)}" for op, count in sorted(found.summary.items()) if op not in _UNCHANGED and count
    ]
    errors = [each.message for each in found.diagnostics if each.severity == "error"]
    result = "failed" if errors else ", ".join(counts) or "nothing to change"
    first = f"**pulumi preview of {inline(stack)}**: {result}."
    lines = [f"- error: {inline(text.strip()[:_CHARACTERS])}" for text in errors[:_ERRORS]]
    lines += [_line(each) for each in found.steps if each.op not in _UNCHANGED]
    if not lines:
        return first
    room = limit - size_of(first) - _AROUND
    shown = "\n".join(fitting(lines, room, "- … and {} more"))
    return f"{first}\n\n<details><summary>Steps</summary>\n\n{shown}\n\n</details>"


def with_previews(report: str, blocks: Mapping[str, str], limit: int = PREVIEW_LIMIT) -> str:
    """A report with the results of previews, before its last section.

    Args:
        report: Markdown of `as_markdown`.
        blocks: those of `preview_block`, by stack, as other jobs have written them.
        limit: bytes of all of them; where there is not room for a whole block, its first paragraph is shown.
    """
    firsts = {stack: block.strip().partition("\n\n")[0][:_CHARACTERS] for stack, block in blocks.items()}
    room = limit - sum(map(size_of, firsts.values()))
    shown = dict(firsts)
    for stack in sorted(blocks, key=lambda name: len(blocks[name])):
        more = len(blocks[stack].strip().encode()) - len(firsts[stack].encode())
        if more <= room:
            room -= more
            shown[stack] = blocks[stack].strip()
    if not shown:
        return report
    text = "\n\n".join(["### Preview in the cluster", *(shown[stack] for stack in sorted(shown))])
    before, heading, after = report.rpartition(_APPROVE)
    return f"{before}\n{text}\n{heading}{after}" if heading else f"{report.rstrip()}\n\n{text}\n"


def _line(step: _Step) -> str:
    name, kind = step.urn.rpartition("::")[2], step.urn.rpartition("::")[0].rpartition("$")[2].rpartition(":")[2]
    because = _names("replaced because of", step.replaced_for or ())
    return f"- {inline(step.op)} {code(f'{kind} {name}')}{because or _names('changes', list(step.diff or {}))}"


def _names(what: str, keys: Sequence[str]) -> str:
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return f": {what} {', '.join(code(key[:_CHARACTERS]) for key in keys[:5])}{more}" if keys else ""
