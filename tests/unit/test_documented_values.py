"""Pages show no key, no YAML and no error code that the program does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import jsonschema
import pytest
import yaml

from dev.reference.configuration import every_key
from tests.support.messages import read_messages

PROJECT = Path(__file__).parents[2]
GENERATED = {"commands.md", "configuration.md", "policies.md"}
PAGES = [
    PROJECT / "README.md",
    *(page for page in sorted(PROJECT.glob("docs/*.md")) if page.name not in GENERATED),
    *sorted(PROJECT.glob("dev/docs/*.md")),
]
STACK, TENANT = (json.loads((PROJECT / "schemas" / f"{name}.schema.json").read_text()) for name in ("stack", "tenant"))
SECTIONS: Mapping[str, Any] = STACK["properties"]["config"]["properties"]
PREFIX = "flux-tenancy:"
OUTPUTS = ("deployKey", "sops", "status", "look", "webhook", "furtherAccess")
"""Keys of a tenant in the stack output `tenants`."""

KEYS = dict(every_key())
"""The keys of both files, with their types."""


def blocks(page: Path) -> Iterator[str]:
    for block in re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        yield dedent(block)


def errors(schema: Mapping[str, Any], value: Any) -> list[str]:
    """All errors but those of omitted keys: an example is a part of a file. `…` and `<…>` stand for any value."""
    found = jsonschema.Draft202012Validator(schema).iter_errors(value)
    leaves = [leaf for error in found for leaf in ([error] if not error.context else _best(error))]
    return [
        f"{error.json_path}: {error.message}"
        for error in leaves
        if error.validator != "required" and not re.search(r"…|<", str(error.instance))
    ]


def _best(error: jsonschema.ValidationError) -> list[jsonschema.ValidationError]:
    """Of several alternatives, the errors of the one that goes deepest; none if one lacks only omitted keys."""
    branches: dict[Any, list[jsonschema.ValidationError]] = {}
    for each in error.context or ():
        branches.setdefault(each.schema_path[0], []).append(each)
    if any(all(each.validator == "required" for each in branch) for branch in branches.values()):
        return []
    return max(branches.values(), key=lambda branch: max(len(each.absolute_path) for each in branch))


def wrong_in(block: str) -> list[str]:
    """What is wrong in a block of YAML, in its parts of stack files and tenant files."""
    # Pulumi reads dates as strings.
    values = json.loads(json.dumps(list(yaml.safe_load_all(block)), default=str))
    return [wrong for value in values for wrong in wrong_with(value)]


def wrong_with(value: Any) -> list[str]:
    if not isinstance(value, dict) or "apiVersion" in value:
        return []
    if "config" in value or any(key.startswith(PREFIX) for key in value):
        config = {re.sub(r"^my-platform:", PREFIX, key): part for key, part in value.get("config", value).items()}
        return errors(STACK, {"config": config})
    return errors(TENANT, value) if value.keys() <= TENANT["properties"].keys() else []


def is_free(key: str, type_: str) -> bool:
    """Whether the keys below a mapping are not listed, such as the names of flags."""
    return type_.startswith("mapping") and not any(each.startswith((f"{key}.", f"{key}[")) for each in KEYS)


def is_key(name: str) -> bool:
    """Whether the reference has a key; a name, such as that of a tenant, stands for each `*`."""
    of_tenant = re.fullmatch(r"tenants\.[^.]+\.(.+)", name)
    if of_tenant:
        return of_tenant[1].split(".")[0] in {*OUTPUTS, *TENANT["properties"]}
    for key, type_ in KEYS.items():
        pattern = re.escape(key).replace(r"\*", r"[^.]+").replace(r"\[\]", r"(\[[^\]]*\])?")
        if re.fullmatch(pattern + (r"(\..+)?" if is_free(key, type_) else r"(\[.*\])?"), name):
            return True
    return False


def keys(page: Path) -> set[str]:
    """The dotted keys of the stack file in the code spans of a page."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    sections = "|".join(key.removeprefix(PREFIX) for key in SECTIONS if key.startswith(PREFIX))
    found = set(re.findall(rf"`((?:{sections})\.[\w.*<>\[\]-]+)(?:: [^`]*)?`", text))
    return {key for key in found if not key.endswith((".yaml", ".*"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_yaml_block_is_valid_and_every_key_and_error_code_exists(page):
    assert [wrong for block in blocks(page) for wrong in wrong_in(block)] == []
    assert sorted(key for key in keys(page) if not is_key(key)) == []
    assert set(re.findall(r"FT-[A-Z]{3}-\d{3}", page.read_text("utf-8"))) - read_messages().keys() == set()


def test_no_two_sections_of_a_generated_page_have_one_heading():
    for name in GENERATED:
        headings = re.findall(r"^#+ .*", (PROJECT / "docs" / name).read_text("utf-8"), re.MULTILINE)
        assert sorted({each for each in headings if headings.count(each) > 1}) == [], name


def test_each_threat_is_in_a_layer():
    numbers = {
        int(each) for each in re.findall(r"^\| (\d+) \|", (PROJECT / "docs/policies.md").read_text(), re.MULTILINE)
    }
    page = (PROJECT / "docs/security.md").read_text("utf-8")
    layers = page[page.index("## Layers") : page.index("## Limits")]
    listed: set[int] = set()
    for part in re.findall(r"\(([\d, to]+)\)", layers):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", part):
            listed |= set(range(int(first), int(last or first) + 1))

    assert numbers - listed == set()
