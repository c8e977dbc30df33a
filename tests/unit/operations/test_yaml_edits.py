"""Values of YAML files are set and removed without touching other lines."""

from __future__ import annotations

import copy
import difflib
import re
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tenants_project import TenantsProject, write_tenants_project

from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.operations.files.yaml_edits import Keys, NotEditable, with_value, without
from flux_tenancy.project.errors import OperationError

STACK = """\
# yaml-language-server: $schema=schemas/stack.schema.json
config:
    pulumi:disable-default-providers: ["*"]

    app:tenants:
        # The first team.
        dev-team: {sync: {path: ./staging}}   # for now

        # The second team.
        ops-team:
            namespaces:
            -   name: "tools"
            people: # all of them
            - alice
            - bob
            key:
                secure: v1:old
            labels: {a: b}   # any
            source:
                branch: 'main'   # the default
        shop: {}   # unchanged
        blog:
        # What follows belongs to Git.
    app:git:
      knownHosts: |
        one
        two

encryptionsalt: v1:abc
"""
TENANTS = ("config", "app:tenants")


def changed(before: str, after: str) -> list[str]:
    """The lines that differ, with `-` and `+` in front."""
    return [
        line
        for line in difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
        if line[0] in "-+"
    ]


FOR_NOW = "-dev-team: {sync: {path: ./staging}}   # for now"


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (
            "tenants/ops-team/source/branch",
            "next",
            ["-branch: 'main'   # the default", "+branch: 'next'   # the default"],
        ),
        ("tenants/ops-team/people", ["carol", "bob"], ["-- alice", "+- carol"]),
        ("tenants/ops-team/key", {"secure": "v1:new"}, ["-secure: v1:old", "+  secure: v1:new"]),
        ("tenants/ops-team/labels", {"c": "d"}, ["-labels: {a: b}   # any", "+labels: {c: d}   # any"]),
        ("git/knownHosts", {"a": 1}, ["-knownHosts: |", "+knownHosts: {a: 1}", "-one", "-two"]),
        ("tenants/ops-team/sync/suspend", True, ["+sync:", "+  suspend: true"]),
        ("tenants/new", {}, ["+new: {}"]),
        ("tenants/new/sync/path", "./a b: c", ["+new:", "+  sync:", "+    path: './a b: c'"]),
        ("tenants/shop/state", "x", ["-shop: {}   # unchanged", "+shop:   # unchanged", "+  state: x"]),
        ("tenants/blog/state", "leaving", ["+  state: leaving"]),
        (
            "tenants/dev-team/sync/suspend",
            True,
            [FOR_NOW, "+dev-team: {sync: {path: ./staging, suspend: true}}   # for now"],
        ),
        (
            "tenants/dev-team/source/url",
            "ssh://git@h/a,b",
            [FOR_NOW, "+dev-team: {sync: {path: ./staging}, source: {url: 'ssh://git@h/a,b'}}   # for now"],
        ),
        ("git/knownHostsFile", "x", ["+knownHostsFile: x"]),
        ("tenancy/networkPolicy", "none", ["+app:tenancy:", "+  networkPolicy: none"]),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_setting_a_value_changes_its_lines_alone(path, value, lines, newline):
    before = STACK.replace("\n", newline)

    after = with_value(before, ("config", *f"app:{path}".split("/")), value)

    found = changed(before, after)
    assert [line[0] + line[2:].strip() for line in found] == [line[0] + line[1:].strip() for line in lines]
    assert all(line.endswith(newline) and line.count("\r") == newline.count("\r") for line in found)


def test_a_value_beside_config_is_set_too():
    after = with_value(STACK, ("encryptionsalt",), "true")

    assert changed(STACK, after) == ["- encryptionsalt: v1:abc\n", "+ encryptionsalt: 'true'\n"]


def test_an_empty_mapping_in_json_becomes_one_in_yaml():
    """`pulumi config set` without `--path` writes JSON as text."""
    assert with_value("tenants: '{}'   # none yet\n", ("tenants", "shop"), {}) == "tenants:   # none yet\n  shop: {}\n"


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ((*TENANTS, "dev-team"), [FOR_NOW]),
        (
            (*TENANTS, "ops-team"),
            [
                "-ops-team:",
                "-namespaces:",
                '--   name: "tools"',
                "-people: # all of them",
                "-- alice",
                "-- bob",
                "-key:",
                "-secure: v1:old",
                "-labels: {a: b}   # any",
                "-source:",
                "-branch: 'main'   # the default",
            ],
        ),
        ((*TENANTS, "ops-team", "source", "branch"), ["-source:", "-branch: 'main'   # the default"]),
        ((*TENANTS, "dev-team", "sync", "path"), [FOR_NOW, "+dev-team: {}   # for now"]),
        ((*TENANTS, "shop", "sync", "path"), []),
        ((*TENANTS, "blog"), ["-blog:"]),
        (("config", "app:git", "knownHosts"), ["-app:git:", "-knownHosts: |", "-one", "-two"]),
    ],
)
def test_removing_a_value_removes_its_lines_and_no_comment_around_it(path, lines):
    after = without(STACK, path, at_least=3 if path[1] == "app:tenants" else 1)

    found = [line[0] + line[2:].strip() for line in changed(STACK, after) if line[0] in "-+"]
    assert found == lines


def test_a_mapping_that_has_to_stay_is_empty_afterwards():
    text = "tenants:\n  # Its only one.\n  shop:\n    sync:\n      path: ./a\nother: 1\n"

    assert without(text, ("tenants", "shop", "sync", "path"), at_least=2) == (
        "tenants:\n  # Its only one.\n  shop: {}\nother: 1\n"
    )


def test_a_file_without_a_last_newline_gets_one():
    assert with_value("a:\n  b: 1", ("a", "c"), 2) == "a:\n  b: 1\n  c: 2\n"


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1}\nc: *x\n",
        "a: {}\r\nc: 1\n",
        "a: [1]\n",
        "- a\n",
        "a: b: c\n",
        "",
        "a: text\n",
        "a:\n  b:\n    c: 1\n",
    ],
    ids=["alias", "mixed newlines", "list", "no mapping", "invalid", "empty", "scalar", "lines"],
)
def test_a_layout_in_which_the_value_cannot_be_set_alone_is_refused(text):
    with pytest.raises(NotEditable):
        with_value(text, ("a", "b"), 2)


def test_what_is_written_is_what_a_parser_reads():
    for value in ("yes", "1.5", "a # b", "x: y", "'", '"', "2026-01-01", "ä"):
        written = yaml.safe_load(with_value(STACK, (*TENANTS, "shop", "note"), value))
        assert written["config"]["app:tenants"]["shop"] == {"note": value}


@pytest.fixture
def project(tmp_path) -> TenantsProject:
    return TenantsProject(write_tenants_project(tmp_path))


@pytest.mark.parametrize("name", ["Pulumi.production.yaml", "tenants/shop.yaml"])
def test_what_somebody_else_has_written_meanwhile_stays(project, name):
    edits = ProjectEdits(project.folder)
    edits.create("tenants/shop.yaml", "namespaces: [{name: shop}]\n")
    for stack in ("staging", "production"):
        edits.set(stack, ("tenants", "ops-team", "state"), "leaving")
    with (project.folder / name).open("a") as file:
        file.write("# of somebody else\n")
    before = project.files()

    with pytest.raises(OperationError) as refused:
        edits.apply()

    assert refused.value.report == (
        f"error: somebody else has written {name.rpartition('/')[2]} while the command ran (FT-OPS-317)\n"
        "remedy: run the command again"
    )
    assert project.files() == before


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
