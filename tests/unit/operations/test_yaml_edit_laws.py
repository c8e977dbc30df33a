"""Laws of edits of YAML files, for documents that are laid out in any way that a person may choose."""

from __future__ import annotations

import copy
import re
from typing import Any

import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from flux_tenancy.operations.files.yaml_edits import Keys, NotEditable, with_value, without

KEYS = st.sampled_from(["a", "b", "app:tenants", "shop"])
PLAIN = st.sampled_from(["text", "1m", "5", "true", "", "null", "two words", "{}", "[]", "[1, x]", "{a: 1, b: {c: x}}"])
QUOTED = st.sampled_from(["'text'", '"x # y"', "'it''s'", '"a: b"', '""'])
BLOCKS = st.sampled_from(["|\n  one\n\n  two", ">-\n  folded\n  text", "- x\n- a: 1", "- x\n# y\n-  - z"])
ENDS = st.sampled_from(["", "", "", "  # why", " #"])
GAPS = st.sampled_from(["", "", "", "\n", "# a comment\n", "  # an indented one\n", "\n\n# another: {one\n"])
NEW: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["text", "", "true", "1.5", "a # b", "x: y", "'", '"', "- x", "*x", "ä", "two\nlines"]),
    st.integers(0, 9),
    st.booleans(),
    st.just({}),
    st.just({"c": [1, "x"], "d": {"e": "f: g"}}),
)


@st.composite
def mappings(draw: st.DrawFn, depth: int = 3) -> str:
    """The lines of a block of entries."""
    lines = ""
    for key in draw(st.lists(KEYS, unique=True, min_size=1, max_size=3)):
        name = draw(st.sampled_from([key, key, f'"{key}"', f"'{key}'"]))
        kind = draw(st.integers(0, 5)) if depth else draw(st.integers(2, 5))
        lines += draw(GAPS)
        if kind < 3 and depth:
            indent = draw(st.sampled_from(["  ", "    ", " "]))
            below = draw(mappings(depth - 1))
            inner = "".join(f"{indent}{line}\n" if line else "\n" for line in below.splitlines())
            lines += f"{name}:{draw(ENDS)}\n{inner}"
        elif kind == 3 and (block := draw(BLOCKS)).startswith("-"):
            lines += f"{name}:\n{block}\n"
        elif kind == 3:
            lines += f"{name}: {block}\n"
        else:
            value = draw(st.one_of(PLAIN, QUOTED))
            lines += f"{name}:{' ' * bool(value)}{value}{draw(ENDS)}\n"
    return lines


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A document and its content; sometimes with Windows' newlines, or without a last one."""
    text = draw(st.sampled_from(["", "---\n", "# yaml-language-server: x\n\n"])) + draw(mappings()) + draw(GAPS)
    content = yaml.safe_load(text)
    if draw(st.integers(0, 4)) == 0:
        text = text.replace("\n", "\r\n")
    if draw(st.integers(0, 4)) == 0:
        text = text.rstrip("\r\n")
    assume(yaml.safe_load(text) == content)
    return text, content


PATHS = st.lists(KEYS, min_size=1, max_size=4).map(tuple)


def paths(content: Any, path: Keys = ()) -> list[Keys]:
    """Those of all values."""
    below = content.items() if isinstance(content, dict) else ()
    return [*([path] if path else []), *(each for key, child in below for each in paths(child, (*path, key)))]


def is_subsequence(some: list[str], lines: list[str]) -> bool:
    rest = iter(lines)
    return all(line in rest for line in some)


def outside(text: str, path: Keys) -> list[str]:
    """The lines of a document that say nothing of the value at a path, nor of what is on the way to it."""
    text = text.replace("\r\n", "\n")
    node: Any = yaml.compose(text)
    lines = dict(enumerate(text.splitlines()))
    first, is_whole = 0, True
    for key in path:
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        entry = next((each for each in entries if each[0].value == key), None)
        if entry is None:
            # Only an empty value becomes a mapping.
            is_whole = not isinstance(node, yaml.MappingNode)
            break
        first, node = entry[0].start_mark.line, entry[1]
        lines.pop(first, None)
    if is_whole:
        # The parser's end of a block is behind the comments that follow.
        end = node.end_mark.line + (node.end_mark.column > 0)
        said = [line for line in range(first, end) if re.match(r"\s*[^\s#]", lines.get(line, ""))]
        for line in range(first, max(said, default=first) + 1):
            lines.pop(line, None)
    # What a document without its only entry says is in the line of its beginning.
    return [line for line in lines.values() if line != "---"]


@given(documents(), PATHS, NEW)
@example(("a: |\n  one\n", {"a": "one\n"}), ("a", "b"), "c")
def test_setting_a_value_says_exactly_that_or_is_refused(document, path, value):
    text, content = document
    try:
        after = with_value(text, path, value)
    except NotEditable:
        return

    wanted = copy.deepcopy(content)
    place = wanted
    for key in path[:-1]:
        if place.get(key) in (None, "{}"):
            place[key] = {}
        place = place[key]
    place[path[-1]] = value
    assert yaml.safe_load(after) == wanted
    assert is_subsequence(outside(text, path), after.splitlines())
    assert ("\r\n" in after) == ("\r\n" in text)


@given(documents(), st.data())
def test_removing_a_value_says_exactly_that_or_is_refused(document, data):
    text, content = document
    path = data.draw(st.one_of(st.sampled_from(paths(content)), PATHS))
    at_least = data.draw(st.integers(1, 2))
    try:
        after = without(text, path, at_least)
    except NotEditable:
        return

    if path not in paths(content):
        assert after == text
        return
    wanted = copy.deepcopy(content)
    for length in range(len(path), 0, -1):
        place = wanted
        for key in path[: length - 1]:
            place = place[key]
        del place[path[length - 1]]
        if place or length - 1 <= at_least:
            break
    assert yaml.safe_load(after) == wanted
    assert is_subsequence(outside(text, path[:length]), after.splitlines())


@given(documents(), PATHS, NEW)
def test_what_was_set_can_be_removed_again(document, path, value):
    text, content = document
    try:
        after = without(with_value(text, path, value), path, at_least=len(path))
    except NotEditable:
        return

    assert path not in paths(yaml.safe_load(after))


@given(documents(), NEW)
def test_an_entry_of_a_mapping_can_be_added_whatever_else_the_document_has(document, value):
    """It isn't enough to refuse."""
    text, content = document

    assert yaml.safe_load(with_value(text, ("new", "key"), value)) == content | {"new": {"key": value}}
