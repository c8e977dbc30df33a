"""Markdown that the jobs of a pull request have written, made harmless for a comment in the name of the repository.

`review diff` has escaped what it quotes. But a pull request can change the program, and then its report is whatever its
author likes. So it is shown without what acts on others or disguises itself: mentions, references, images, links to
other sites, HTML, comments for programs, commands for bots. A space of no width does it, which a reader does not see.

The result of `pulumi preview --json` becomes a block: which steps, and why resources are replaced. It has no values,
secret or not, since the report shows what changes. Its first paragraph makes sense by itself.

Source: https://github.github.com/gfm/,
https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github
and `PreviewDigest` in pkg/display/json.go of Pulumi
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flux_tenancy.components.config.messages import printable
from flux_tenancy.review.words import code as quoted
from flux_tenancy.review.words import fitting, inline, size_of

BREAK = "\u200b"
_KEPT = f"\n{BREAK}"

_ALLOWED_TAG = r"</?(?:details|summary|sub|b|br)>"
_TAG = re.compile(rf"<(?!{_ALLOWED_TAG[1:]})(?=[A-Za-z/!?])")
_MENTION = re.compile(rf"@(?=[^\s{BREAK}])")
_REFERENCE = re.compile(r"(?:(?<!&)#|\bGH-)(?=[0-9&])", re.IGNORECASE)
_ENTITY = re.compile(rf"&(?:#[0-9]++|#[xX][0-9A-Fa-f]++|[A-Za-z]++);?+(?!{BREAK})")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](?=\((?!(?:https://github\.com/[\w./-]+|#[\w-]+)\))|\[)")
_DEFINITION = re.compile(r"^([ \t>*+\-0-9.)]*)\[(?![ xX]\] )", re.MULTILINE)
_COMMAND = re.compile(r"^([ \t>]*)/(?=[A-Za-z])", re.MULTILINE)
_FENCE = re.compile(r"^([ \t]*(?:`{3,}|~{3,}))(?![ \t]*$|(?:diff|text|yaml|console)[ \t]*$).*$", re.MULTILINE)
_FENCE_MARK = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def neutralized(text: str) -> str:
    """A text that GitHub shows as it is, without effect on anybody who does not read it."""
    text = "".join(letter if letter.isprintable() or letter in _KEPT else " " for letter in text.replace("\r\n", "\n"))
    text = _FENCE.sub(r"\1", _without_comments(text))
    text = _COMMAND.sub(rf"\1/{BREAK}", text)
    # A link's target can be defined elsewhere, on a line that begins with its name.
    text = _DEFINITION.sub(rf"\1{BREAK}[", text)
    for pattern in (_TAG, _MENTION, _REFERENCE, _IMAGE, _LINK):
        text = pattern.sub(_broken, text)
    # GitHub looks for mentions and references in what an entity stands for.
    return _ENTITY.sub(lambda found: _broken(found) if html.unescape(found[0]) in ("@", "#") else found[0], text)


def _without_comments(text: str) -> str:
    """A text without HTML's comments; one that nothing ends stays."""
    kept, end = [], 0
    while (start := text.find("<!--", end)) >= 0 and (after := text.find("-->", start)) >= 0:
        kept.append(text[end:start])
        end = after + len("-->")
    return "".join([*kept, text[end:]])


def _broken(found: re.Match[str]) -> str:
    return f"{found[0]}{BREAK}"


def code(text: str) -> str:
    """A text as code in a sentence or in the cell of a table."""
    text = printable(text).replace("`", BREAK).replace("|", "\\|")
    return f"`{text}`"


def cut(text: str, limit: int, note: str) -> str:
    """The beginning of a text with a note at its end, where it is too long.

    It ends between two paragraphs outside of tables, code and folded parts, so that what follows is shown as usual.

    Args:
        limit: the number of characters that the result has at most.
        note: what says that there is more.
    """
    if len(text) <= limit:
        return text
    best = length = fences = folded = 0
    for paragraph in text.split("\n\n"):
        length += len(paragraph)
        if length + 2 + len(note) > limit:
            break
        fences += len(_FENCE_MARK.findall(paragraph))
        folded += paragraph.count("<details>") - paragraph.count("</details>")
        if fences % 2 == 0 and folded == 0:
            best = length
        length += 2
    return f"{text[:best]}\n\n{note}" if best else note


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


def preview_block(stack: str, output: str) -> str:
    """The result of a preview as Markdown, with at most PREVIEW_LIMIT bytes.

    Args:
        output: what `pulumi preview --json` has printed; anything else is a preview that failed.
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
    room = PREVIEW_LIMIT - size_of(first) - _AROUND
    shown = "\n".join(fitting(lines, room, "- … and {} more"))
    return f"{first}\n\n<details><summary>Steps</summary>\n\n{shown}\n\n</details>"


def with_previews(report: str, blocks: Mapping[str, str]) -> str:
    """A report with the results of previews, before its last section.

    Args:
        blocks: those of `preview_block`, by stack, as other jobs have written them; where there is not room for a whole
            block, its first paragraph is shown.
    """
    firsts = {stack: block.strip().partition("\n\n")[0][:_CHARACTERS] for stack, block in blocks.items()}
    room = PREVIEW_LIMIT - sum(map(size_of, firsts.values()))
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
    return f"- {inline(step.op)} {quoted(f'{kind} {name}')}{because or _names('changes', list(step.diff or {}))}"


def _names(what: str, keys: Sequence[str]) -> str:
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return f": {what} {', '.join(quoted(key[:_CHARACTERS]) for key in keys[:5])}{more}" if keys else ""
