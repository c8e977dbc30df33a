"""The cases of reviews as data: small changes of one project, and what a report must say of each.

`cases/base.yaml` has the sections of the stack; each of the other files has cases:

- `case`: its name.
- `given`: values that both versions have, like `set`.
- `set`: values by dotted path; `null` removes a key. Numbers are positions in lists, `+` appends; `\\.` is a dot in a
  key.
- `risk`: a part of a sentence that must be among the risks.
- `says`: a part of another sentence, or of the headline.
- `shows`: a part of the diff of objects.
- `key`: a part of the diff of keys.
- `harmless`: whether nothing may be called a risk.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from sample_keys import certificate
from sample_project import encrypted, write_project, write_stack

from flux_tenancy.components.config.types import today
from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.stack.files.stack_file import read_stack_file
from flux_tenancy.review.changes.keys import key_changes
from flux_tenancy.review.render.facts import Written, read_written
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.model import Report

CASES = Path(__file__).with_name("cases")
_STACK = "staging"
_DOT = re.compile(r"(?<!\\)\.")


@dataclass(frozen=True)
class Case:
    """A change and what must be said of it."""

    name: str
    given: Mapping[str, Any]
    changes: Mapping[str, Any]
    expected: Mapping[str, Any]


def read_cases() -> list[Case]:
    """All cases, in the order of their files."""
    files = sorted(each for each in CASES.glob("*.yaml") if each.name != "base.yaml")
    found = [each for file in files for each in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return [Case(each.pop("case"), each.pop("given", {}), each.pop("set"), each) for each in found]


class Project:
    """The project of the cases in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = write_project(folder)
        self._before = self._side({})
        self._written = self._read()

    def report(self, case: Case) -> Report:
        """What the report says of a case."""
        before, written = (self._side(case.given), self._read()) if case.given else (self._before, self._written)
        after = self._side({**case.given, **case.changes})
        keys = key_changes(written, self._read())
        return Report("main", "0" * 40, (stack_report(_STACK, before, after, keys=keys),))

    def objects(self, changes: Mapping[str, Any]) -> tuple[RenderedObject, ...]:
        """What the stack with these values applies."""
        return self._side(changes).render.objects

    def _read(self) -> Written:
        return read_written(_STACK, self._folder)

    def _side(self, changes: Mapping[str, Any]) -> Side:
        sections = deepcopy(_base())
        for path, value in changes.items():
            _set(sections, [each.replace("\\.", ".") for each in _DOT.split(path)], _value(value))
        for name in sections["tenants"]:
            (self._folder / "tenants" / f"{name}.yaml").touch()
        write_stack(self._folder, _STACK, **sections)
        file = read_stack_file(_STACK, read_project_file(self._folder))
        return Side(file, render_stack(self._folder, _STACK))


def sentences(report: Report) -> list[str]:
    """What the report says that is no risk: its headline and the sentences of its sections."""
    said = [each.sentence for section in report.sections for group in section.groups for each in group.said]
    return [report.headline, *said]


def diff(report: Report) -> list[str]:
    """The lines of the objects in the report."""
    return list(_lines(report))


def keys(report: Report) -> list[str]:
    """The changed keys in the report, as lines of a diff."""
    entries = [entry for section in report.sections for group in section.groups for entry in group.keys]
    return [line for entry in entries for part in entry.parts for line in part]


def _lines(report: Report) -> Iterator[str]:
    for section in report.sections:
        for group in section.groups:
            for entry in group.entries:
                yield f"{entry.action} {entry.label}"
                yield from (line for part in entry.parts for line in part)


@cache
def _base() -> dict[str, Any]:
    found: dict[str, Any] = _value(yaml.safe_load((CASES / "base.yaml").read_text(encoding="utf-8")))
    return found


def _set(where: Any, path: list[str], value: Any) -> None:
    *parents, last = path
    for part in parents:
        where = where[int(part)] if isinstance(where, list) else where.setdefault(part, {})
    if last == "+":
        where.append(value)
    elif isinstance(where, list):
        where[int(last)] = value
    elif value is None:
        del where[last]
    else:
        where[last] = value


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith("enc:"):
        return encrypted(value)
    if value.startswith("@+"):
        return str(today() + timedelta(days=int(value[2:])))
    if value.startswith("ca:"):
        return certificate() * int(value[3:])
    text, mark, number = value.partition("key:")
    return f"{text}{_key(int(number))}" if mark and number.isdigit() else value


def _key(number: int) -> str:
    """A public SSH key."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes([number]) * 32
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"
