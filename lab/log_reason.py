"""Why a process ended or does not get ready, in the words of its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_FATAL = (
    re.compile(r"^F\d{4} \S+\s+\d+ \S+\] (?P<said>.+)"),  # klog: the parts of Kubernetes
    re.compile(r"^panic: (?P<said>.+)"),  # Go's runtime; a trace of the stack follows
    re.compile(r"^\S+ \S+ \S+ \[F\] (?P<said>.+)"),  # Gitea
)
_ERROR = (
    re.compile(r"^E\d{4} \S+\s+\d+ \S+\] (?P<said>.+)"),
    re.compile(r"^\S+ \S+ \S+ \[E\] (?P<said>.+)"),
    re.compile(r"^time=\S+ level=ERROR (?P<said>.+)"),  # slog: the lab's own programs
    re.compile(r"^\S+ \S+ ERROR (?P<said>.+)"),
    re.compile(r"^(?:[Ee]rror|unknown flag): .+"),  # flags that a program does not know
)
_LEVELS = {"fatal": 2, "panic": 2, "error": 1}
"""How grave each level of zap, which etcd logs with, is: 2 ends the process."""


def reason(lines: Iterable[str]) -> str | None:
    """The last thing that a process says to have ended it, or else the last error; None if it tells of neither.

    Args:
        lines: of its log, since its start.
    """
    gravest, found = 0, None
    for line in lines:
        gravity, said = _judged(line)
        if said and gravity >= gravest:
            gravest, found = gravity, said
    return found


def _judged(line: str) -> tuple[int, str | None]:
    """How grave what a line tells of is, and the line without time and place."""
    if line.startswith("{"):
        return _entry(line)
    for gravity, patterns in ((2, _FATAL), (1, _ERROR)):
        for pattern in patterns:
            if match := pattern.match(line):
                return gravity, match.groupdict().get("said", line)
    return 0, None


def _entry(line: str) -> tuple[int, str | None]:
    try:
        entry = json.loads(line)
    except ValueError:
        return 0, None
    said = ": ".join(str(entry[key]) for key in ("msg", "error") if entry.get(key))
    gravity = _LEVELS.get(entry.get("level", ""), 0)
    return gravity, said if gravity else None
