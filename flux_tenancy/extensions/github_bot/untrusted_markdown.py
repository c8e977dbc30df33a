"""Markdown that the jobs of a pull request have written, made harmless for a comment in the name of the repository.

`review diff` has escaped what it quotes. But a pull request can change the program, and then its report is whatever its
author likes. So it is shown without what acts on others or disguises itself: mentions, references, images, links to
other sites, HTML, comments for programs, commands for bots. A space of no width does it, which a reader does not see.

Source: https://github.github.com/gfm/ and
https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github
"""

from __future__ import annotations

import html
import re

from flux_tenancy.components.config.printable import printable

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
        text: Markdown.
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
