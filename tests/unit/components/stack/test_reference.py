"""The generated pages of docs/: current, complete, and readable where a reader looks first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from dev.reference.pages import OF_SYNCS, configuration_page, lockdown_page, rendered
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.lockdown_environment import LOCKDOWN_ENVIRONMENT
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS
from flux_tenancy.components.sources.config import Source
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.operations.schemas import stack_schema, tenant_schema


def rows(page: str) -> dict[str, list[str]]:
    """The rows of all tables of a page, by what stands in the first cell without its backticks."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return {first.strip("`"): rest for first, *rest in lines}


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


def test_every_key_of_the_tenant_file_has_a_row():
    schema = tenant_schema()
    # Options that all syncs share are described where `sync` has them.
    definitions = schema["definitions"] | {model.__name__: {} for model in OF_SYNCS}
    assert set(keys_in(schema, definitions)) <= set(rows(configuration_page()))


def test_every_key_of_the_stack_file_has_a_row():
    schema = stack_schema("flux-tenancy")
    # Its own part of the reference describes a tenant, with its source and options of its sync.
    elsewhere: tuple[type[BaseModel], ...] = (
        TenantConfig,
        GitSource,
        Decryption,
        *OF_SYNCS,
        *get_args(get_args(Source)[0]),
    )
    definitions = schema["definitions"] | {model.__name__: {} for model in elsewhere}
    sections = schema["properties"]["config"]["properties"].items()
    keys = {name.partition(":")[2] for name, _ in sections}
    for name, section in sections:
        keys |= set(keys_in(section, definitions, f"{name.partition(':')[2]}."))
    assert keys <= set(rows(configuration_page()))


def test_every_key_says_what_it_means():
    assert [key for key, (_, _, meaning) in rows(configuration_page()).items() if not meaning.strip()] == []


@pytest.mark.parametrize(
    ("key", "type_", "default"),
    [
        ("flux.version", "a Flux release; write it like 2.9.5", "required"),
        ("flux.profile", "[Profile](#profile)", "`multi-tenant`"),
        ("flux.workloadIdentity", "true or false", "`false`"),
        ("flux.extraArgs", "mapping of [Controller](#controller) to list of string", ""),
        ("cluster.kubeconfigContent", "secret string", ""),
        (
            "namespaces[].name",
            "a DNS label; use at most 63 lowercase letters, digits and '-', e.g. dev-team",
            "required",
        ),
        ("sync.interval", "a duration; write it like 30s, 5m or 1h30m", "`10m`"),
        ("source.webhook.type", "`github` or `gitlab` or `bitbucket` or `generic-hmac`", "`github`"),
        ("source.deployKey", "secret private SSH key", ""),
        ("source.githubApp.privateKey", "secret private RSA key, PEM", "required"),
        ("source.verify.keys", "mapping of string to string", "required"),
        ("github.owners.*.token", "secret string", ""),
        ("flux.sync.path", "a folder inside the repository, e.g. ./staging", ""),
    ],
)
def test_type_and_default_are_in_words_of_the_files(key, type_, default):
    found_type, found_default, _ = rows(configuration_page())[key]
    assert (found_type, found_default.strip()) == (type_, default)


def test_keys_that_are_described_in_another_place_lead_there():
    page = configuration_page()
    meanings = {key: row[-1] for key, row in rows(page).items()}
    assert meanings["flux.sync.source"].endswith("Keys: [a tenant's `source`](#source).")
    assert meanings["tenants"].endswith("Keys: [the tenant file](#the-tenant-file).")
    assert "\n### `source`\n" in page
    assert "\n## The tenant file\n" in page


def test_every_enumeration_that_a_type_links_to_is_explained():
    page = configuration_page()
    linked = {word.split("]")[0] for word in page.split("[")[1:] if word.split("]")[-1].startswith("(#")}
    named = {name for name in linked if name and name[0].isupper()}
    assert named == {
        "Controller",
        "KyvernoController",
        "ControllerRights",
        "PodSecurity",
        "PolicyEngine",
        "PolicyMode",
        "PolicyName",
        "Profile",
        "Protocol",
        "PersonKind",
        "Role",
        "SubjectKind",
        "TenancyMode",
        "TenantNetwork",
        "TenantState",
    }
    assert [name for name in named if f"\n### {name}\n" not in page] == []


def test_the_lockdown_page_has_every_flag_of_the_table():
    page = lockdown_page()
    assert page.count("\n| `--") == len(LOCKDOWN_FLAGS) + len(FORBIDDEN_FLAGS)
    for flag in LOCKDOWN_FLAGS:
        row = next(line for line in page.splitlines() if flag.argument in line and flag.purpose in line)
        assert all(controller.value in row for controller in flag.controllers)
    for name, reason in FORBIDDEN_FLAGS.items():
        assert f"| `--{name}` | {reason} |" in page


def test_the_lockdown_page_has_every_variable_of_the_table():
    lines = lockdown_page().splitlines()
    for variable in LOCKDOWN_ENVIRONMENT:
        cell = f"| `{variable.name}={variable.value}` |"
        [row] = [line for line in lines if line.startswith(cell) and variable.hole in line]
        assert all(controller.value in row for controller in variable.controllers)
