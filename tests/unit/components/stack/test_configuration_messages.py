"""What a new user writes at first, and what the answer says to write instead."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from sample_stack import FLUX, KYVERNO, load, problems

from components.config.types import Quantity

URL = "http:// or https:// or ssh://; write it like https://git.example.com/team/repository or "
URL += "ssh://git@git.example.com/team/repository"


def tenant(**entry: Any) -> dict[str, Any]:
    return {"tenants": {"dev-team": entry}}


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"flux": FLUX | {"version": 2.9}}, "flux.version: must be a string, got 2.9; put it in quotes"),
        (
            {"tenancy": {"limits": {"quota": {"pods": 50}}}},
            "tenancy.limits.quota.pods: must be a string, got 50; put it in quotes",
        ),
        ({"tenancy": {"settleTimeout": 60}}, "tenancy.settleTimeout: 60 has no unit; write it like 60s or 60m"),
        (tenant(sync={"interval": "5"}), "tenants.dev-team.sync.interval: '5' has no unit; write it like 5s or 5m"),
        (
            tenant(sync={"interval": "1d"}),
            "tenants.dev-team.sync.interval: '1d' is not a duration; write it like 30s, 5m or 1h30m",
        ),
        (
            tenant(source={"url": "shh://git@github.com/acme/apps"}),
            f"tenants.dev-team.source.url: has the unknown scheme shh://; it must begin with {URL}",
        ),
        (
            tenant(source={"url": "git@github.com:acme/apps.git"}),
            "tenants.dev-team.source.url: 'git@github.com:acme/apps.git' is the short form of SSH, which Flux does not "
            "read; write ssh://git@github.com/acme/apps.git",
        ),
        (
            tenant(sync={"deletionPolicy": "delete"}),
            "tenants.dev-team.sync.deletionPolicy: 'delete' is not one of 'MirrorPrune', 'Delete', "
            "'WaitForTermination' or 'Orphan'; did you mean 'Delete'?",
        ),
        (
            {"policies": {"mode": False}},
            "policies.mode: false is not one of 'enforce', 'audit' or 'off'; put it in quotes",
        ),
        (
            tenant(policies={"sources": "https://github.com/acme/*"}),
            "tenants.dev-team.policies.sources: must be a list, got 'https://github.com/acme/*'; "
            "write ['https://github.com/acme/*']",
        ),
        (tenant(namespaces="apps"), "tenants.dev-team.namespaces: must be a list, got 'apps'"),
        (
            tenant(namespaces=["apps"]),
            "tenants.dev-team.namespaces[0]: must be a mapping, got 'apps'; write its keys below it: name",
        ),
        (
            tenant(source={"webhook": True}),
            "tenants.dev-team.source.webhook: must be a mapping, got true; write its keys below it: type",
        ),
        (tenant(path="./staging"), "tenants.dev-team.path: is an unknown key here; did you mean sync.path?"),
        (tenant(namespace="apps"), "tenants.dev-team.namespace: is an unknown key; did you mean 'namespaces'?"),
        (
            {"tenancy": {"limits": {"fluxObject": 5}}},
            "tenancy.limits.fluxObject: is an unknown key; did you mean 'fluxObjects'?",
        ),
        (
            tenant(source={"github": {"zebra": "1", "repository": "acme/apps"}, "webhook": {}}),
            "tenants.dev-team.source.github.zebra: is an unknown key; the keys here are repository",
        ),
        ({"kyverno": KYVERNO | {"replicas": 0}}, "kyverno.replicas: must be at least 1, got 0"),
        ({"kyverno": KYVERNO | {"replicas": 10}}, "kyverno.replicas: must be at most 9, got 10"),
        ({"kyverno": KYVERNO | {"replicas": "three"}}, "kyverno.replicas: must be a whole number, got 'three'"),
        (
            {"flux": FLUX | {"resources": {"source-controller": {"limits": {"memory": "lots"}}}}},
            "flux.resources.source-controller.limits.memory: 'lots' is not a quantity of Kubernetes; "
            "write it like 4, 500m or 8Gi",
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
