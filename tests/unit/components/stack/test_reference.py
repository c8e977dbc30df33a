"""The generated pages of docs/: current, complete, and readable where a reader looks first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from dev.reference.configuration import configuration_page
from dev.reference.pages import lockdown_page, rendered
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_ENVIRONMENT, LOCKDOWN_FLAGS
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.operations.schemas import stack_schema, tenant_schema


def rows(page: str) -> dict[str, list[str]]:
    """The type and the meaning of each key on the page."""
    found = re.findall(r"^- `([^`]+)` \((.*?)\): (.*)$", page, re.MULTILINE)
    return {key: [kind, meaning] for key, kind, meaning in found}


def keys_in(schema: dict[str, Any] | bool, definitions: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """All key paths that a JSON Schema knows, written as in the reference."""
    if isinstance(schema, bool):
        return
    for choice in schema.get("anyOf", [schema]):
        if "$ref" in choice:
            yield from keys_in(definitions[choice["$ref"].rsplit("/", 1)[-1]], definitions, prefix)
    for name, value in schema.get("properties", {}).items():
        yield f"{prefix}{name}"
        yield from keys_in(value, definitions, f"{prefix}{name}.")
    if isinstance(schema.get("items"), dict):
        yield from keys_in(schema["items"], definitions, f"{prefix.removesuffix('.')}[].")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys_in(schema["additionalProperties"], definitions, f"{prefix}*.")


@pytest.mark.parametrize("file", rendered(), ids=lambda file: file.name)
def test_the_committed_page_is_current(file):
    assert file.read_text(encoding="utf-8") == rendered()[file], f"{file.name} is stale; run `make generate`"


def described(page: str) -> set[str]:
    """The keys with a row, and those that a section has like another one."""
    found = set(rows(page))
    for section in page.split("\n### `")[1:]:
        path, alike = section.partition("`")[0], re.search(r"^Also, as in .*?\): (.*)\.$", section, re.MULTILINE)
        found |= {f"{path}.{name}" for name in re.findall("`([^`]*)`", alike[1] if alike else "")}
    return found


def above(key: str) -> Iterator[str]:
    """The keys that a key is below, the next one first: `a[].b` and `a` for `a[].b.c`."""
    while "." in key:
        key = re.sub(r"\.[^.]*$", "", key)
        yield re.sub(r"(\[\]|\.\*)+$", "", key)


def missing(keys: Iterable[str]) -> set[str]:
    """The keys that neither have a row nor are below a key that leads to another section."""
    page = configuration_page()
    known = described(page)
    leading = {key for key, row in rows(page).items() if " Keys: " in row[-1]} | (known - set(rows(page)))
    return {key for key in keys if key not in known and not leading & set(above(key))}


def test_every_key_of_the_tenant_file_is_described():
    schema = tenant_schema()
    assert missing(keys_in(schema, schema["definitions"])) == set()


def test_every_key_of_the_stack_file_is_described():
    schema = stack_schema("flux-tenancy")
    sections = schema["properties"]["config"]["properties"].items()
    keys = {name.partition(":")[2] for name, _ in sections}
    for name, section in sections:
        if name != "flux-tenancy:tenants":
            keys |= set(keys_in(section, schema["definitions"], f"{name.partition(':')[2]}."))
    assert len(keys) > 200
    assert missing(keys) == set()


def test_every_key_says_what_it_means():
    assert [key for key, (_, meaning) in rows(configuration_page()).items() if not meaning.strip()] == []


def test_every_enumeration_that_a_type_links_to_is_explained():
    page = configuration_page()
    linked = {word.split("]")[0] for word in page.split("[")[1:] if word.split("]")[-1].startswith("(#")}
    named = {name for name in linked if name and name[0].isupper()}
    assert named == {"Controller", "ControllerRights", "ExceptedPolicy"}
    assert [name for name in named if f"\n### {name}\n" not in page] == []


def shown_controllers(row: str) -> set[str]:
    """The controllers in the second cell of a row; `all` or `all but <controller>` stand for the others."""
    cell = row.split(" | ")[1]
    if cell.startswith("all"):
        return {*Controller} - {cell.removeprefix("all").removeprefix(" but ")}
    return set(cell.split(", "))


def test_the_lockdown_page_has_every_flag_of_the_table():
    page = lockdown_page()
    assert page.count("\n| `--") == len(LOCKDOWN_FLAGS) + len(FORBIDDEN_FLAGS)
    for flag in LOCKDOWN_FLAGS:
        row = next(line for line in page.splitlines() if flag.argument in line and flag.purpose in line)
        assert shown_controllers(row) == set(flag.controllers)
    for name, reason in FORBIDDEN_FLAGS.items():
        assert f"| `--{name}` | {reason} |" in page


def test_the_lockdown_page_has_every_variable_of_the_table():
    lines = lockdown_page().splitlines()
    for variable in LOCKDOWN_ENVIRONMENT:
        cell = f"`{variable.name}={variable.value}`"
        [row] = [line for line in lines if cell in line and f"| {variable.hole} |" in line]
        assert shown_controllers(row) == set(variable.controllers)
