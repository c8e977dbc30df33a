"""Pictures of the comments in `tests/golden/review`, as GitHub shows them: `python -m dev.reference.comment_pictures`.

They are drawn by hand after a change of the report's words, and no test compares them: fonts differ between machines.
Chromium draws them (Debian's package `chromium`); CHROMIUM names another program.

Source: https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#alerts
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
CASES = ("onboarding", "wider-role", "offboarding", "another-cluster")
"""Names of golden files; docs/review.md shows their pictures."""
WIDTH = 884
"""Pixels of a picture; GitHub's column of comments is about as wide."""

_ALERT = re.compile(r"\[!(NOTE|WARNING|CAUTION)\]\n?")
_COLOURS = {"note": "#0969da", "warning": "#9a6700", "caution": "#cf222e"}
_STYLE = """
body { margin: 12px; background: white; color: #1f2328; font: 16px/1.5 "Noto Sans", "Liberation Sans", sans-serif; }
main { border: 1px solid #d0d7de; border-radius: 6px; padding: 0 16px 16px; }
header { margin: 0 -16px; padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d0d7de; font-size: 14px;
  border-radius: 6px 6px 0 0; color: #59636e; }
header b { color: #1f2328; }
h2 { font-size: 24px; line-height: 1.25; padding-bottom: 7px; margin: 16px 0; border-bottom: 1px solid #d1d9e0; }
h3 { font-size: 20px; line-height: 1.25; margin: 24px 0 16px; }
p, ul, pre, details, table, .alert { margin: 0 0 16px; }
ul { padding-left: 32px; } li + li { margin-top: 4px; }
code, pre { font: 13.6px/1.45 "Liberation Mono", monospace; }
code { background: #818b981f; border-radius: 6px; padding: 3px 5px; }
pre { background: #f6f8fa; border-radius: 6px; padding: 16px; overflow: hidden; }
pre code { background: none; padding: 0; }
ins, del { text-decoration: none; }
ins { background: #dafbe1; color: #116329; }
del { background: #ffebe9; color: #82071e; }
table { border-collapse: collapse; } td, th { border: 1px solid #d1d9e0; padding: 6px 13px; }
.alert { border-left: 4px solid; padding: 0 16px; } .alert > * { color: #1f2328; }
.alert > .kind { color: inherit; font-weight: 600; margin-bottom: 4px; }
"""


def main() -> None:
    """Draw all pictures."""
    for case in CASES:
        text = (ROOT / "tests" / "golden" / "review" / f"{case}.md").read_text(encoding="utf-8")
        picture = ROOT / "docs" / "images" / f"comment-{case}.png"
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "comment.html")
            page.write_text(as_page(text), encoding="utf-8")
            height = re.search(r"<title>(\d+)</title>", _chromium(page, "--dump-dom"))
            assert height is not None
            _chromium(page, f"--screenshot={picture}", f"--window-size={WIDTH},{height[1]}")
        print(picture.relative_to(ROOT))


def as_page(comment: str) -> str:
    """A comment as a page whose title becomes its height in pixels."""
    markdown = MarkdownIt("gfm-like", {"highlight": _highlighted}).disable("linkify")
    tokens = markdown.parse(comment)
    _alerts(tokens)
    body = markdown.renderer.render(tokens, markdown.options, {})
    return (
        f"<!doctype html><meta charset='utf-8'><title></title><style>{_STYLE}</style>"
        f"<main><header><b>github-actions</b> bot commented now</header>{body}</main>"
        "<script>document.title = document.querySelector('main').offsetHeight + 24</script>"
    )


def _alerts(tokens: list[Token]) -> None:
    """Make quotes that begin with `[!CAUTION]` and the like what GitHub makes of them."""
    for index, token in enumerate(tokens):
        text = tokens[index + 2] if token.type == "blockquote_open" else None
        if text is None or not (found := _ALERT.match(text.content)):
            continue
        kind = found[1].lower()
        token.tag, token.attrs = "div", {"class": "alert", "style": f"color: {_COLOURS[kind]}"}
        end = next(each for each in tokens[index:] if (each.type, each.level) == ("blockquote_close", token.level))
        end.tag = "div"
        mark = Token(
            "html_inline", "", 0, content=f"<span style='color: {_COLOURS[kind]}'><b>{kind.title()}</b></span><br>"
        )
        children = text.children or []
        text.children = [mark, *children[2:]]


def _highlighted(text: str, language: str, _attributes: str) -> str:
    """The lines of a diff in colours."""
    if language != "diff":
        return escape(text)
    tags = {"+": "ins", "-": "del"}
    lines = [(tags.get(line[:1], "span"), escape(line)) for line in text.splitlines()]
    return "\n".join(f"<{tag}>{line}</{tag}>" for tag, line in lines)


def _chromium(page: Path, *options: str) -> str:
    command = [os.environ.get("CHROMIUM", "chromium"), "--headless", "--hide-scrollbars", "--disable-gpu"]
    # Chromium's sandbox refuses root, and the page is ours.
    command += ["--no-sandbox", f"--user-data-dir={page.parent / 'profile'}", f"--window-size={WIDTH},900"]
    done = subprocess.run([*command, *options, page.as_uri()], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} exited with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
