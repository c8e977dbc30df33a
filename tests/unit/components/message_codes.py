"""Codes of messages, by which tests recognize them: their words may change."""

import re
from collections.abc import Iterable
from typing import Protocol

_CODE = re.compile(r"\((FT-[A-Z]+-\d{3})\)")


def codes(lines: Iterable[object]) -> list[str]:
    """The code of each line that a user sees; a line without one, or with several, fails the test."""
    found = []
    for line in map(str, lines):
        [code] = _CODE.findall(line)
        found.append(code)
    return found


class Ended(Protocol):
    """How a command has ended."""

    @property
    def exit_code(self) -> int: ...
    @property
    def stderr(self) -> str: ...


def code_of_refusal(ended: Ended) -> str:
    """The code of the error with which a command has ended."""
    assert ended.exit_code == 2, ended
    [code] = codes(ended.stderr.splitlines()[:1])
    return code
