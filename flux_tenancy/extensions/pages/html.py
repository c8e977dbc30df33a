"""The page as one file, which loads nothing.

Its text is data, which the script sets as text. The policy of the page allows only this script and this style, by their
digests, so that text from a cluster could not run even if it became markup.

Source: https://www.w3.org/TR/CSP3/#framework-directive-source-list
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from flux_tenancy.components.config.decisions import now
from flux_tenancy.components.config.messages import printable
from flux_tenancy.version import VERSION

_PAGE = Path(__file__).with_name("page.html")


def as_html(stacks: Sequence[dict[str, Any]], isolation: dict[str, Any] | None) -> str:
    """The page.

    Args:
        stacks: each as `read_stack` returns it.
        isolation: a report as `read_isolation` returns it; None if there is none.
    """
    data = {"made": now().strftime("%Y-%m-%dT%H:%M:%SZ"), "version": VERSION, "stacks": stacks, "isolation": isolation}
    style, script = (_PAGE.with_suffix(each).read_text(encoding="utf-8") for each in (".css", ".js"))
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'",
        style=style,
        script=script,
        # A `<` in data could end its element: https://html.spec.whatwg.org/#restrictions-for-contents-of-script-elements
        data=json.dumps(_shown(data)).replace("<", "\\u003c"),
    )


def _shown(value: Any) -> Any:
    """Data without characters that hide or reorder text."""
    if isinstance(value, dict):
        return {printable(str(key)): _shown(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each) for each in value]
    return printable(value) if isinstance(value, str) else value


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
