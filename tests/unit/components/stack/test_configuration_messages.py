"""Mistakes of new users, and what the error says to write instead."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from sample_stack import FLUX, KYVERNO, load, problems

from flux_tenancy.components.config.types import Quantity
from tests.support.messages import said

EXAMPLE = "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
UNKNOWN = said("FT-CFG-006", "a URL that begins with http:// or https:// or ssh://", EXAMPLE)


def tenant(**entry: Any) -> dict[str, Any]:
    return {"tenants": {"dev-team": entry}}


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"flux": FLUX | {"version": 2.9}}, "flux.version: " + said("FT-CFG-612", "2.9")),
        (
            {"tenancy": {"limits": {"quota": {"pods": 50}}}},
            "tenancy.limits.quota.pods: " + said("FT-CFG-612", "50"),
        ),
        (
            {"tenancy": {"settleTimeout": 60}},
            "tenancy.settleTimeout: " + said("FT-CFG-006", "a duration with its unit", "60s or 60m").of(60),
        ),
        (
            tenant(sync={"interval": "5"}),
            "tenants.dev-team.sync.interval: " + said("FT-CFG-006", "a duration with its unit", "5s or 5m").of("5"),
        ),
        (
            tenant(sync={"interval": "1d"}),
            "tenants.dev-team.sync.interval: " + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m").of("1d"),
        ),
        (
            tenant(source={"url": "shh://git@github.com/acme/apps"}),
            f"tenants.dev-team.source.url: {UNKNOWN}",
        ),
        (
            tenant(source={"url": "git@github.com:acme/apps.git"}),
            "tenants.dev-team.source.url: "
            + said("FT-CFG-015", "git@github.com", "acme/apps.git").of("git@github.com:acme/apps.git"),
        ),
        (
            tenant(sync={"deletionPolicy": "delete"}),
            "tenants.dev-team.sync.deletionPolicy: "
            + said(
                "FT-CFG-606",
                "'delete'",
                "'MirrorPrune', 'Delete', 'WaitForTermination' or 'Orphan'",
                "did you mean 'Delete'?",
            ),
        ),
        (
            {"policies": {"mode": False}},
            "policies.mode: " + said("FT-CFG-606", "false", "'enforce', 'audit' or 'off'", "put it in quotes"),
        ),
        (
            tenant(policies={"sources": "https://github.com/acme/*"}),
            "tenants.dev-team.policies.sources: "
            + said("FT-CFG-610", "a list", "'https://github.com/acme/*'", "write ['https://github.com/acme/*']"),
        ),
        (tenant(namespaces="apps"), "tenants.dev-team.namespaces: " + said("FT-CFG-609", "a list", "'apps'")),
        (
            tenant(namespaces=["apps"]),
            "tenants.dev-team.namespaces[0]: "
            + said("FT-CFG-610", "a mapping", "'apps'", "write its keys below it: name"),
        ),
        (
            tenant(source={"webhook": True}),
            "tenants.dev-team.source.webhook: "
            + said("FT-CFG-610", "a mapping", "true", "write its keys below it: type"),
        ),
        (tenant(path="./staging"), "tenants.dev-team.path: " + said("FT-CFG-602", "did you mean sync.path?")),
        (tenant(namespace="apps"), "tenants.dev-team.namespace: " + said("FT-CFG-602", "did you mean 'namespaces'?")),
        (
            {"tenancy": {"limits": {"fluxObject": 5}}},
            "tenancy.limits.fluxObject: " + said("FT-CFG-602", "did you mean 'fluxObjects'?"),
        ),
        (
            tenant(source={"github": {"zebra": "1", "repository": "acme/apps"}, "webhook": {}}),
            "tenants.dev-team.source.github.zebra: " + said("FT-CFG-602", "the keys here are repository"),
        ),
        ({"kyverno": KYVERNO | {"replicas": 0}}, "kyverno.replicas: " + said("FT-CFG-609", "at least 1", "0")),
        ({"kyverno": KYVERNO | {"replicas": 10}}, "kyverno.replicas: " + said("FT-CFG-609", "at most 9", "10")),
        (
            {"kyverno": KYVERNO | {"replicas": "three"}},
            "kyverno.replicas: " + said("FT-CFG-609", "a whole number", "'three'"),
        ),
        (
            {"flux": FLUX | {"resources": {"source-controller": {"limits": {"memory": "lots"}}}}},
            "flux.resources.source-controller.limits.memory: "
            + said("FT-CFG-006", "a Kubernetes quantity", "4, 500m or 8Gi").of("lots"),
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
