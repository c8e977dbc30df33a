"""Mistakes of new users, and what the error says to write instead."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from sample_stack import FLUX, KYVERNO, load, problems

from components.config.config_wordings import (
    DURATION_WITHOUT_UNIT,
    NOT_A_DURATION,
    NOT_A_QUANTITY,
    SHORT_SSH_URL,
    TIMEOUT_IN_HOURS,
    UNKNOWN_SCHEME,
)
from components.config.types import Quantity
from components.stack.config_wordings import (
    LIST_NEEDED,
    NOT_ONE_OF_LIKE,
    NOT_ONE_OF_QUOTED,
    OUT_OF_BOUNDS,
    QUOTES_NEEDED,
    SECTION_EXPECTED,
    UNKNOWN_KEY_AMONG,
    UNKNOWN_KEY_BELOW,
    UNKNOWN_KEY_LIKE,
    WRONG_TYPE,
)

EXAMPLE = "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
UNKNOWN = UNKNOWN_SCHEME(scheme="shh", schemes="http:// or https:// or ssh://", example=EXAMPLE)


def tenant(**entry: Any) -> dict[str, Any]:
    return {"tenants": {"dev-team": entry}}


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"flux": FLUX | {"version": 2.9}}, "flux.version: " + QUOTES_NEEDED(given="2.9")),
        (
            {"tenancy": {"limits": {"quota": {"pods": 50}}}},
            "tenancy.limits.quota.pods: " + QUOTES_NEEDED(given="50"),
        ),
        ({"tenancy": {"settleTimeout": 60}}, "tenancy.settleTimeout: " + DURATION_WITHOUT_UNIT(number="60").of(60)),
        (
            tenant(sync={"interval": "5"}),
            "tenants.dev-team.sync.interval: " + DURATION_WITHOUT_UNIT(number="5").of("5"),
        ),
        (
            tenant(sync={"interval": "1d"}),
            "tenants.dev-team.sync.interval: " + NOT_A_DURATION().of("1d"),
        ),
        (
            tenant(source={"timeout": "1h30m"}),
            "tenants.dev-team.source.timeout: " + TIMEOUT_IN_HOURS().of("1h30m"),
        ),
        (
            {"flux": FLUX | {"sync": {"source": {"url": "https://git.example.com/fleet", "timeout": "1h"}}}},
            "flux.sync.source.timeout: " + TIMEOUT_IN_HOURS().of("1h"),
        ),
        (
            tenant(source={"url": "shh://git@github.com/acme/apps"}),
            f"tenants.dev-team.source.url: {UNKNOWN}",
        ),
        (
            tenant(source={"url": "git@github.com:acme/apps.git"}),
            "tenants.dev-team.source.url: "
            + SHORT_SSH_URL(host="git@github.com", path="acme/apps.git").of("git@github.com:acme/apps.git"),
        ),
        (
            tenant(sync={"deletionPolicy": "delete"}),
            "tenants.dev-team.sync.deletionPolicy: "
            + NOT_ONE_OF_LIKE(
                choices="'MirrorPrune', 'Delete', 'WaitForTermination' or 'Orphan'",
                given="'delete'",
                suggestion="Delete",
            ),
        ),
        (
            {"policies": {"mode": False}},
            "policies.mode: " + NOT_ONE_OF_QUOTED(choices="'enforce', 'audit' or 'off'", given="false"),
        ),
        (
            tenant(policies={"sources": "https://github.com/acme/*"}),
            "tenants.dev-team.policies.sources: " + LIST_NEEDED(given="'https://github.com/acme/*'"),
        ),
        (tenant(namespaces="apps"), "tenants.dev-team.namespaces: " + WRONG_TYPE(expected="a list", given="'apps'")),
        (
            tenant(namespaces=["apps"]),
            "tenants.dev-team.namespaces[0]: " + SECTION_EXPECTED(given="'apps'", keys="name"),
        ),
        (
            tenant(source={"webhook": True}),
            "tenants.dev-team.source.webhook: " + SECTION_EXPECTED(given="true", keys="type"),
        ),
        (tenant(path="./staging"), "tenants.dev-team.path: " + UNKNOWN_KEY_BELOW(path="sync.path")),
        (tenant(namespace="apps"), "tenants.dev-team.namespace: " + UNKNOWN_KEY_LIKE(suggestion="namespaces")),
        (
            {"tenancy": {"limits": {"fluxObject": 5}}},
            "tenancy.limits.fluxObject: " + UNKNOWN_KEY_LIKE(suggestion="fluxObjects"),
        ),
        (
            tenant(source={"github": {"zebra": "1", "repository": "acme/apps"}, "webhook": {}}),
            "tenants.dev-team.source.github.zebra: " + UNKNOWN_KEY_AMONG(keys="repository"),
        ),
        ({"kyverno": KYVERNO | {"replicas": 0}}, "kyverno.replicas: " + OUT_OF_BOUNDS(bound="at least 1", given="0")),
        ({"kyverno": KYVERNO | {"replicas": 10}}, "kyverno.replicas: " + OUT_OF_BOUNDS(bound="at most 9", given="10")),
        (
            {"kyverno": KYVERNO | {"replicas": "three"}},
            "kyverno.replicas: " + WRONG_TYPE(expected="a whole number", given="'three'"),
        ),
        (
            {"flux": FLUX | {"resources": {"source-controller": {"limits": {"memory": "lots"}}}}},
            "flux.resources.source-controller.limits.memory: " + NOT_A_QUANTITY().of("lots"),
        ),
    ],
    ids=lambda value: value.split(": ")[0] if isinstance(value, str) else "",
)
def test_an_error_says_what_to_write(tmp_path, sections, problem):
    assert f"Pulumi.staging.yaml: {problem}" in problems(tmp_path, **sections)


@pytest.mark.parametrize("quantity", ["4", "0.5", "500m", "100u", "8Gi", "128e6", "1E3"])
def test_a_quantity_may_be_written_in_every_way_that_kubernetes_reads(quantity):
    assert TypeAdapter(Quantity).validate_python(quantity) == quantity


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("./staging", "./staging"),
        ("staging", "./staging"),
        ("staging/", "./staging"),
        ("./staging/", "./staging"),
        ("clusters//staging", "./clusters/staging"),
        ("clusters/./staging", "./clusters/staging"),
        ("./", "./"),
        (".", "./"),
        ("", ""),
        ("./.config", "./.config"),
    ],
)
def test_a_folder_is_the_same_however_it_is_written(tmp_path, written, path):
    flux = FLUX | {"sync": {"source": {"url": "https://git.example.com/fleet"}, "path": written}}

    config = load(tmp_path, flux=flux, **tenant(sync={"path": written}))

    assert config.tenants["dev-team"].sync.path == path
    assert config.flux.sync is not None
    assert config.flux.sync.path == path


def test_an_empty_mapping_that_pulumi_has_stored_as_a_string_is_one(tmp_path):
    """As `pulumi config set --path github.owners.acme '{}'` does."""
    config = load(tmp_path, tenants={"dev-team": "{}"}, github={"owners": {"acme": "{}"}})

    assert list(config.tenants) == ["dev-team"]
    assert config.github.owners["acme"].token is None
