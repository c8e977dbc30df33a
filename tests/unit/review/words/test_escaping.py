"""Text of others in Markdown."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from flux_tenancy.components.config.messages import printable
from flux_tenancy.review.words import code, fenced, inline, with_letters_named

HOSTILE = [
    "<script>alert(1)</script>",
    "<!-- marker -->",
    "</details></summary>",
    "**bold** _it_ ~~no~~ # title",
    "[click](https://evil.example.com)",
    "![image](https://evil.example.com/x.png)",
    "a | b",
    "`code` ``` fence",
    "&lt;b&gt; &#64;",
    "line\n# heading\n- item",
    "\x1b[31mred \u202eesrever",
    "$x$ back\\slash",
]


def shown(markdown):
    """What a reader sees of a paragraph, and the kinds of what is in it."""
    tokens = MarkdownIt("gfm-like").disable("linkify").parse(markdown)
    [children] = [token.children for token in tokens if token.children]
    return "".join(child.content for child in children), {child.type for child in children}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_in_a_sentence_is_shown_as_it_is(text):
    seen, kinds = shown(inline(text))

    assert kinds <= {"text", "text_special"}
    assert seen.replace("\u200b", "") == printable(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_as_code_stays_code(text):
    seen, kinds = shown(f"x {code(text)} y")

    assert kinds == {"text", "code_inline"}
    assert seen == f"x {printable(text)} y"


@pytest.mark.parametrize(
    "text",
    ["@octocat", "mail a@b.example", "#12", "GH-12", "https://evil.example.com", "www.evil.example.com", "x/y#1"],
)
def test_github_finds_nothing_that_acts_on_others(text):
    broken = inline(text)

    assert "\u200b" in broken
    assert broken.replace("\u200b", "").replace("\\", "") == text


def test_a_cell_of_a_table_stays_one_cell():
    table = f"| a | b |\n| --- | --- |\n| {inline('x|y')} | z |"

    cells = [token for token in MarkdownIt("gfm-like").disable("linkify").parse(table) if token.type == "td_open"]

    assert len(cells) == 2


@pytest.mark.parametrize("line", ["```", "- ````", "+ a: ``` b"])
def test_a_fence_is_not_closed_by_its_content(line):
    [block] = MarkdownIt().parse(fenced([line, "<b>"], "diff"))

    assert (block.type, block.info, block.content) == ("fence", "diff", f"{line}\n<b>\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("syncs rele\u0430se", "syncs rele\u0430se (with U+0430 CYRILLIC SMALL LETTER A)"),
        (
            "user \u0430\u0435\u0430, b",
            "user \u0430\u0435\u0430 (with U+0430 CYRILLIC SMALL LETTER A, U+0435 CYRILLIC SMALL LETTER IE), b",
        ),
        ("a\u200bb", "a\u200bb (with U+200B ZERO WIDTH SPACE)"),
        ("a\ue000", "a\ue000 (with U+E000 (no name))"),
        ("main and 80 characters\u2026", "main and 80 characters\u2026"),
    ],
)
def test_letters_that_are_not_ascii_are_named(text, said):
    assert with_letters_named(text) == said
