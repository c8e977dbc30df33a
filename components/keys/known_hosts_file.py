"""The file of host keys that a stack names in `git.knownHostsFile`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.config.errors import Problem
from components.config.messages import message_of
from components.config.yaml_files import UNREADABLE_FILE
from components.keys.known_hosts import KnownHostError, check_line, entries


def read_known_hosts(section: Any, stack_file: str, project: Path) -> tuple[tuple[str, ...], list[Problem]]:
    """The lines of the file that a `git` section names, and its problems; nothing where it names no file.

    Args:
        section: the section, not validated yet.
        stack_file: the stack's file, which names it.
        project: folder of the Pulumi project, where relative paths start.
    """
    name = section.get("knownHostsFile") if isinstance(section, Mapping) else None
    if not isinstance(name, str):
        return (), []
    try:
        text = (project / Path(name).expanduser()).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return (), [Problem(stack_file, "git.knownHostsFile", UNREADABLE_FILE(reason=reason).of(name))]
    lines, problems = [], []
    for number, line in entries(text):
        try:
            lines.append(check_line(line))
        except KnownHostError as error:
            problems.append(Problem(name, f"line {number}", message_of(error)))
    return tuple(lines), problems
