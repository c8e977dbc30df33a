"""Values as CEL literals. Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md"""

from __future__ import annotations

import json
from collections.abc import Iterable


def text(value: str) -> str:
    """A string literal."""
    return json.dumps(value, ensure_ascii=True)


def texts(values: Iterable[str]) -> str:
    """A list of string literals."""
    return f"[{', '.join(map(text, values))}]"
