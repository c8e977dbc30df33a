"""Values of YAML files are set and removed without touching other lines."""

from __future__ import annotations

import difflib

import pytest
import yaml

from flux_tenancy.operations.files.yaml_edits import NotEditable, with_value, without

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


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (
            (*TENANTS, "ops-team", "source", "branch"),
            "next",
            ["-branch: 'main'   # the default", "+branch: 'next'   # the default"],
        ),
        (
            (*TENANTS, "ops-team", "people"),
            ["carol", "bob"],
            ["-- alice", "+- carol"],
        ),
        ((*TENANTS, "ops-team", "key"), {"secure": "v1:new"}, ["-secure: v1:old", "+  secure: v1:new"]),
        (
            (*TENANTS, "ops-team", "labels"),
            {"c": "d"},
            ["-labels: {a: b}   # any", "+labels: {c: d}   # any"],
        ),
        (("config", "app:git", "knownHosts"), {"a": 1}, ["-knownHosts: |", "+knownHosts: {a: 1}", "-one", "-two"]),
        ((*TENANTS, "ops-team", "sync", "suspend"), True, ["+sync:", "+  suspend: true"]),
        ((*TENANTS, "new"), {}, ["+new: {}"]),
        ((*TENANTS, "new", "sync", "path"), "./a b: c", ["+new:", "+  sync:", "+    path: './a b: c'"]),
        (
            (*TENANTS, "shop", "state"),
            "leaving",
            ["-shop: {}   # unchanged", "+shop:   # unchanged", "+  state: leaving"],
        ),
        ((*TENANTS, "blog", "state"), "leaving", ["+  state: leaving"]),
        (
            (*TENANTS, "dev-team", "sync", "suspend"),
            True,
            [
                "-dev-team: {sync: {path: ./staging}}   # for now",
                "+dev-team: {sync: {path: ./staging, suspend: true}}   # for now",
            ],
        ),
        (
            (*TENANTS, "dev-team", "source", "url"),
            "ssh://git@h/a,b",
            [
                "-dev-team: {sync: {path: ./staging}}   # for now",
                "+dev-team: {sync: {path: ./staging}, source: {url: 'ssh://git@h/a,b'}}   # for now",
            ],
        ),
        (("config", "app:git", "knownHostsFile"), "x", ["+knownHostsFile: x"]),
        (("config", "app:tenancy", "networkPolicy"), "none", ["+app:tenancy:", "+  networkPolicy: none"]),
        (("encryptionsalt",), "true", ["-encryptionsalt: v1:abc", "+encryptionsalt: 'true'"]),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_setting_a_value_changes_its_lines_alone(path, value, lines, newline):
    before = STACK.replace("\n", newline)

    after = with_value(before, path, value)

    found = changed(before, after)
    assert [line[0] + line[2:].strip() for line in found] == [line[0] + line[1:].strip() for line in lines]
    assert all(line.endswith(newline) and line.count("\r") == newline.count("\r") for line in found)


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ((*TENANTS, "dev-team"), ["-dev-team: {sync: {path: ./staging}}   # for now"]),
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
        (
            (*TENANTS, "dev-team", "sync", "path"),
            ["-dev-team: {sync: {path: ./staging}}   # for now", "+dev-team: {}   # for now"],
        ),
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
        assert yaml.safe_load(with_value(STACK, (*TENANTS, "shop", "note"), value))["config"]["app:tenants"][
            "shop"
        ] == {"note": value}
