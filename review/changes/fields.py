"""The lines of a diff for one changed object, and which of its fields are noise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import Any

from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.policies.probe import PROBE_NAME
from flux_tenancy.components.tenant.annotations import PREFIX
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.changes.objects import ABSENT, FieldChange, ObjectChange
from flux_tenancy.review.render.rendered import RenderedObject

FIELDS = 20
"""Fields of an object that are shown; the rest is counted."""
_VALUE = 240
"""Characters of a value that are shown."""
_AROUND = 60
"""Characters that are shown before and after the part of a long value that differs."""
_LINES = 30
"""Lines of a text of several lines that are shown."""

# Labels and annotations that decide what somebody may do, unlike those that only describe.
_MEANINGFUL = (PREFIX, "pod-security.kubernetes.io/", TENANT_LABEL)
# A text that nobody takes for a number or a truth value, so that it needs no quotes.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z/_.<(-][^\n\"]*", re.IGNORECASE)
# Stand-ins for secrets (`components.config.sealed`, `review.render.recorder`).
_STAND_IN = re.compile(r"<(?:encrypted|public half of encrypted|generated)[^<>]*>")
_HIDDEN = "(not shown)"


def label(rendered: RenderedObject) -> str:
    """How an object is called, e.g. `RoleBinding apps/dev-team-reconciler`."""
    return printable(f"{rendered.kind} {'/'.join(filter(None, (rendered.namespace, rendered.name)))}")


def is_noise(change: ObjectChange) -> bool:
    """Whether nothing but labels and annotations that describe an object changed in it, or the policies' digest.

    The probe of the policies has a digest of all of them, so it changes whenever one of them does.
    """
    if change.object.is_kubernetes and change.object.name.startswith(PROBE_NAME):
        return all(field.path[0] in ("metadata", "spec") for field in change.fields) and bool(change.fields)
    return bool(change.fields) and all(map(_is_description, change.fields))


def lines(change: ObjectChange) -> list[str]:
    """The changed fields of an object as lines of a diff, labels and annotations that only describe it left out.

    Values are shortened to where they differ. What is in a Secret is not shown, except for stand-ins.
    """
    meant = [field for field in change.fields if not _is_description(field)]
    shown = [_visible(line) for field in meant[:FIELDS] for line in _field(change.object, field)]
    if left := len(meant[FIELDS:]):
        shown.append(f"  … and {left} more field{'s' if left > 1 else ''}")
    return shown


def shown_value(rendered: RenderedObject, field: FieldChange, value: Any) -> Any:
    """A field's value as a report may show it: no text of a Secret that is not a stand-in."""
    if value is ABSENT or rendered.kind != "Secret" or field.path[0] not in ("data", "stringData"):
        return value
    if isinstance(value, dict):
        return {key: shown_value(rendered, field, item) for key, item in value.items()}
    return value.strip() if isinstance(value, str) and _STAND_IN.fullmatch(value.strip()) else _HIDDEN


def _is_description(field: FieldChange) -> bool:
    """Whether a field is a label or an annotation without meaning to the platform, of the object or of its Pods."""
    path = list(field.path)
    if path[:2] == ["spec", "template"]:
        del path[:2]
    if len(path) < 2 or path[0] != "metadata" or path[1] not in ("labels", "annotations"):
        return False
    keys: Iterable[Any] = path[2:3] or [
        *(field.before if isinstance(field.before, dict) else ()),
        *(field.after if isinstance(field.after, dict) else ()),
    ]
    return not any(str(key).startswith(_MEANINGFUL) for key in keys)


def _field(rendered: RenderedObject, field: FieldChange) -> Iterator[str]:
    before, after = (shown_value(rendered, field, value) for value in (field.before, field.after))
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        yield f"  {field.name}:"
        yield from _texts(before, after)
        return
    old, new = (None if value is ABSENT else _text(value) for value in (before, after))
    if old is not None and new is not None:
        old, new = _shortened(old, new)
    if old is not None:
        yield f"- {field.name}: {_cut(old)}"
    if new is not None:
        yield f"+ {field.name}: {_cut(new)}"


def _texts(before: str, after: str) -> Iterator[str]:
    """The lines that differ in two texts of several lines."""
    found = [
        f"{line[0]}   {_cut(line[1:])}"
        for line in unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    yield from found[:_LINES]
    if len(found) > _LINES:
        yield f"    … and {len(found) - _LINES} more lines"


def _text(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _shortened(before: str, after: str) -> tuple[str, str]:
    """Two long values without what both begin and end with."""
    if max(len(before), len(after)) <= _VALUE:
        return before, after
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    most = min(len(before), len(after)) - start
    end = next(
        (i for i, (a, b) in enumerate(zip(reversed(before), reversed(after), strict=False)) if a != b or i >= most),
        most,
    )
    return _around(before, start, end), _around(after, start, end)


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _AROUND), min(len(text), len(text) - end + _AROUND)
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}… ({len(text) - _VALUE} more characters)"


def _visible(line: str) -> str:
    """A line without characters that control a terminal or disguise text, its white space as it is."""
    return "".join(letter if letter.isprintable() else " " for letter in line)
