"""Codes of messages, by which tests recognize them: their words may change."""

import re
from collections.abc import Iterable

_CODE = re.compile(r"\((FT-[A-Z]+-\d{3})\)")


def codes(lines: Iterable[object]) -> list[str]:
    """The code of each line that a user sees; a line without one, or with several, fails the test."""
    found = []
    for line in map(str, lines):
        [code] = _CODE.findall(line)
        found.append(code)
    return found
