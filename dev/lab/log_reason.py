"""The reason in a log why a process exited or does not get ready."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_FATAL = (
    re.compile(r"^F\d{4} \S+\s+\d+ \S+\] (?P<text>.+)"),  # klog: the components of Kubernetes
    re.compile(r"^panic: (?P<text>.+)"),  # Go's runtime, followed by a stack trace
    re.compile(r"^\S+ \S+ \S+ \[F\] (?P<text>.+)"),  # Gitea
)
_ERROR = (
    re.compile(r"^E\d{4} \S+\s+\d+ \S+\] (?P<text>.+)"),
    re.compile(r"^\S+ \S+ \S+ \[E\] (?P<text>.+)"),
    re.compile(r"^time=\S+ level=ERROR (?P<text>.+)"),  # slog: the lab's own programs
    re.compile(r"^\S+ \S+ ERROR (?P<text>.+)"),
    re.compile(r"^(?:[Ee]rror|unknown flag): .+"),  # unknown flags
)
_LEVELS = {"fatal": 2, "panic": 2, "error": 1}
"""Severity of the levels of zap, which etcd uses: 2 ends the process."""


def reason(lines: Iterable[str]) -> str | None:
    """The last fatal error in a log, or else the last error; None if there is neither.

    Args:
        lines: lines of the log since the start of the process.
    """
    highest, found = 0, None
    for line in lines:
        severity, text = _parse(line)
        if text and severity >= highest:
            highest, found = severity, text
    return found


def _parse(line: str) -> tuple[int, str | None]:
    """Severity of a line, and its text without time and source."""
    if line.startswith("{"):
        return _parse_json(line)
    for severity, patterns in ((2, _FATAL), (1, _ERROR)):
        for pattern in patterns:
            if match := pattern.match(line):
                return severity, match.groupdict().get("text", line)
    return 0, None


def _parse_json(line: str) -> tuple[int, str | None]:
    try:
        entry = json.loads(line)
    except ValueError:
        return 0, None
    text = ": ".join(str(entry[key]) for key in ("msg", "error") if entry.get(key))
    severity = _LEVELS.get(entry.get("level", ""), 0)
    return severity, text if severity else None
