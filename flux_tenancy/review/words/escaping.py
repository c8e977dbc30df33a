"""Text of others in Markdown: shown as it is, without effect.

GitHub looks for mentions, references and addresses in what Markdown has become, so that no escape of Markdown's stops
them; a space of no width does. In code, they have no effect anyway.

Source: https://github.github.com/gfm/ and
https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flux_tenancy.components.config.printable import printable

_BREAK = "\u200b"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!$])")
_ACTIVE = re.compile(r"@|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_FENCE = "```"


def inline(text: str) -> str:
    """A text in a sentence."""
    text = _MARKDOWN.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    return _ACTIVE.sub(lambda found: f"{found[0]}{_BREAK}", text)


def code(text: str) -> str:
    """A text as code in a sentence; not in a table, where nothing but a backslash that is shown hides a pipe."""
    text = printable(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {text} {mark}" if longest else f"{mark}{text}{mark}"


def fenced(lines: Sequence[str], language: str = "") -> str:
    """Lines as a block of code, with a fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(len(_FENCE), longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])
