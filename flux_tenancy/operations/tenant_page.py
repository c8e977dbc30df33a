"""The tenants of all stacks as one HTML page, which needs no server and loads nothing.

The page is complete without its script, which sorts the table. The policy of the page allows this script and this style
and nothing else, by their digests, so text from a cluster could not run even if it were not escaped.

Source: https://www.w3.org/TR/CSP3/#framework-directive-source-list and
https://www.w3.org/WAI/ARIA/apg/patterns/table/examples/sortable-table/
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from flux_tenancy.operations.tenant_overview import Health, StackOverview
from flux_tenancy.operations.tenant_overview_text import UNREACHABLE, headings, notes, rows

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; background: Canvas; color: CanvasText; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8886; }
th, td { white-space: nowrap; }
td:last-child { overflow-wrap: anywhere; white-space: normal; min-width: 16rem; }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0;
  text-align: left; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
button:focus-visible, .wide:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
.good { color: light-dark(#19692c, #7fd492); } .bad { color: light-dark(#b3261e, #ff9d94); font-weight: 600; }
.open { color: light-dark(#8a5300, #f0b95e); }
"""
_SCRIPT = """
const table = document.querySelector("table"), body = table.tBodies[0];
const key = (row, column) => row.cells[column].textContent;
for (const head of table.tHead.rows[0].cells) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending", column = head.cellIndex;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (one, two) => key(one, column).localeCompare(key(two, column), "en", { numeric: true });
    body.append(...[...body.rows].sort((one, two) => (down ? -1 : 1) * order(one, two)));
  });
}
"""
_CLASSES = {
    Health.READY: "good",
    Health.FAILED: "bad",
    Health.ABSENT: "open",
    Health.RECONCILING: "open",
    UNREACHABLE: "bad",
}


def as_html(overviews: Sequence[StackOverview], made_at: str) -> str:
    """The page.

    Args:
        overviews: the stacks.
        made_at: the time at which they were read.
    """
    policy = f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; base-uri 'none'"
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings(overviews))
    lines = "".join(_row(cells) for cells in rows(overviews))
    remarks = "".join(f"<p>{escape(note)}</p>\n" for note in notes(overviews))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Tenants</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Tenants</h1>\n"
        '<div class="wide" role="region" aria-label="Tenants of all stacks" tabindex="0">\n<table>\n'
        f"<caption>As of {escape(made_at)}. A heading sorts by its column.</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n{remarks}</main>\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _row(cells: Sequence[str]) -> str:
    stack, tenant, state, *others = cells
    marked = f' class="{_CLASSES[state]}"' if state in _CLASSES else ""
    named = f'<td>{escape(stack)}</td><th scope="row">{escape(tenant)}</th><td{marked}>{escape(state)}</td>'
    return f"<tr>{named}{''.join(f'<td>{escape(cell)}</td>' for cell in others)}</tr>\n"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
