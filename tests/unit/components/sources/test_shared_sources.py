"""Which source a sync applies, and sources that are shared with tenants."""

from typing import Any

import pytest
from sample_sources import private_key
from sample_stack import FLUX, Secret, load, refusals

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.tenant.syncs import SourceReference, source_reference

BASE = "namespaces: [{name: NAME}]\n"
CHARTS: dict[str, Any] = {"kind": "HelmRepository", "url": "https://charts.example.com"}
OCI: dict[str, Any] = {"kind": "OCIRepository", "url": "oci://registry.example.com/manifests"}
BUILT: dict[str, Any] = {"kind": "ExternalArtifact", "name": "built-here"}


def bases(tenants: dict[str, Any]) -> dict[str, str]:
    return {name: BASE.replace("NAME", f"{name}-apps") for name in tenants}


def stack(tmp_path: Any, tenants: dict[str, Any], **shared: Any) -> Any:
    return load(tmp_path, bases=bases(tenants), tenants=tenants, shared=shared)


def refused(tmp_path: Any, tenants: dict[str, Any], **shared: Any) -> list[str]:
    return refusals(tmp_path, bases=bases(tenants), tenants=tenants, shared=shared)


def test_the_sync_of_a_tenant_without_a_repository_applies_the_source_that_it_names(tmp_path):
    sources = {"manifests": OCI, "built": BUILT}
    config = stack(tmp_path, {"shop": {"sources": sources, "sync": {"source": "manifests"}}}).tenants["shop"]

    assert source_reference("shop", config, config.sync.source) == SourceReference(
        "OCIRepository", "manifests", "shop-apps"
    )
    assert source_reference("shop", config, "built") == SourceReference("ExternalArtifact", "built-here", "shop-apps")
    assert source_reference("shop", config) == SourceReference("GitRepository", "shop", "shop-apps")


@pytest.mark.parametrize(
    ("tenant", "expected"),
    [
        ({}, ["source FT-CFG-605"]),
        ({"sources": {"manifests": OCI}}, ["sync.source FT-SRC-040"]),
        ({"sources": {"manifests": OCI}, "sync": {"source": "other"}}, ["tenants.shop.sync.source FT-CFG-404"]),
        ({"sources": {"charts": CHARTS}, "sync": {"source": "charts"}}, ["tenants.shop.sync.source FT-CFG-404"]),
        ({"sources": {"shop": OCI}, "sync": {"source": "shop"}}, ["tenants.shop.sources.shop FT-CFG-001"]),
    ],
)
def test_a_sync_without_a_source_that_it_can_apply_is_refused(tmp_path, tenant, expected):
    assert refused(tmp_path, {"shop": tenant}) == expected


def test_only_sources_that_a_sync_can_apply_are_proposed(tmp_path):
    tenant = {"sources": {"charts": CHARTS, "manifests": OCI}}

    with pytest.raises(ConfigurationError, match=r"name one of manifests \("):
        stack(tmp_path, {"shop": tenant})


def test_a_sync_of_an_external_artifact_needs_the_controllers_feature_gate(tmp_path):
    tenants = {"shop": {"sources": {"built": BUILT}, "sync": {"source": "built"}}}
    gate = {"extraArgs": {"kustomize-controller": ["--feature-gates=ExternalArtifact=true"]}}
    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()

    assert refused(tmp_path / "without", tenants) == ["tenants.shop.sync.source FT-CFG-655"]
    assert load(tmp_path / "with", bases=bases(tenants), tenants=tenants, flux=FLUX | gate)


def test_a_shared_source_is_one_of_each_tenant_that_it_names_and_of_no_other(tmp_path):
    own = {"sources": {"manifests": OCI}, "sync": {"source": "manifests"}}
    config = stack(tmp_path, {"a": own, "b": own, "c": own}, charts={"tenants": ["a", "b"], "source": CHARTS})

    assert {name: sorted(tenant.sources) for name, tenant in config.tenants.items()} == {
        "a": ["charts", "manifests"],
        "b": ["charts", "manifests"],
        "c": ["manifests"],
    }


def test_a_tenant_can_be_synced_from_a_shared_source_alone(tmp_path):
    config = stack(tmp_path, {"a": {"sync": {"source": "base"}}}, base={"tenants": ["a"], "source": OCI})

    assert source_reference("a", config.tenants["a"], "base").kind == "OCIRepository"


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        ({"tenants": ["a"]}, "shared.it.source FT-CFG-605"),
        ({"tenants": ["b"], "source": CHARTS}, "shared.it.tenants[0] FT-CFG-404"),
        ({"tenants": ["a", "a"], "source": CHARTS}, "shared.it.tenants[1] FT-CFG-403"),
        ({"tenants": ["a"], "source": CHARTS | {"url": "http://c.example.com"}}, "shared.it.source.url FT-CFG-674"),
        (
            {"tenants": ["a"], "source": {"kind": "GitRepository", "url": "https://g.example.com/a", "webhook": {}}},
            "shared.it.source.webhook FT-SRC-046",
        ),
        (
            {"tenants": ["a"], "source": CHARTS | {"credentials": {"username": "a", "password": "s3cret"}}},
            "shared.it.source.credentials.password FT-CFG-640",
        ),
    ],
)
def test_a_shared_source_that_cannot_be_offered_is_refused_once(tmp_path, shared, expected):
    own = {"sources": {"manifests": OCI}, "sync": {"source": "manifests"}}

    assert refused(tmp_path, {"a": own}, it=shared) == [expected]


def test_a_shared_source_with_the_name_of_a_tenants_own_is_refused(tmp_path):
    own = {"sources": {"manifests": OCI}, "sync": {"source": "manifests"}}
    shared = {"tenants": ["a"], "source": CHARTS}

    assert refused(tmp_path, {"a": own}, manifests=shared) == ["shared.manifests FT-CFG-001"]


def test_tenants_may_share_a_deploy_key_only_as_part_of_a_shared_source(tmp_path):
    key = Secret(private_key("shared"))
    code = {"kind": "GitRepository", "url": "ssh://git@github.com/acme/base", "deployKey": key}
    tenants = {name: {"sync": {"source": "base"}} for name in ("a", "b")}
    (tmp_path / "shared").mkdir()

    assert stack(tmp_path / "shared", tenants, base={"tenants": ["a", "b"], "source": code})
    (tmp_path / "own").mkdir()
    own = {name: {"sources": {"base": code}, "sync": {"source": "base"}} for name in ("a", "b")}
    assert refused(tmp_path / "own", own) == ["tenants.b.sources.base.deployKey FT-CFG-653"]
