"""What Flux's profile learns of the rest of the stack."""

import pytest
from sample_capsule import CAPSULE
from sample_stack import FLUX, load

from flux_tenancy.components.installs.flux.profile import StackFacts
from flux_tenancy.components.stack.platform_objects import stack_facts

TWO_NAMESPACES = {"namespaces": [{"name": "apps"}, {"name": "apps-more"}]}
KEYS = ["arn:aws:kms:eu-1:1:key/2"]


def test_a_tenants_quota_holds_in_each_of_its_namespaces(tmp_path):
    config = load(tmp_path, tenants={"dev-team": TWO_NAMESPACES}, tenancy={"limits": {"kustomizations": 7}})

    assert stack_facts(config) == StackFacts(kustomizations=14, helm_releases=32, sources=32)


def test_the_limits_of_the_largest_tenant_decide(tmp_path):
    small = {"namespaces": [{"name": "apps"}, {"name": "apps-more", "limits": {"helmReleases": 40}}]}

    config = load(tmp_path, tenants={"dev-team": small | {"limits": {"kustomizations": 9}}})

    assert stack_facts(config) == StackFacts(kustomizations=18, helm_releases=56, sources=56)


def test_a_stack_without_tenants_may_get_some_by_label(tmp_path):
    assert stack_facts(load(tmp_path, tenants={})) == StackFacts(kustomizations=5, helm_releases=16, sources=16)


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"helmReleases": 30}, 60),
        ({"helmReleases": 100}, 200),
        ({"helmReleases": 300, "fluxObjects": 300}, 600),
        ({"fluxObjects": 3}, 6),
        ({}, 32),
    ],
)
def test_the_quota_of_helm_releases_decides_how_many_workers_they_can_occupy(tmp_path, limits, most):
    config = load(tmp_path, tenants={"dev-team": TWO_NAMESPACES}, tenancy={"limits": limits})

    assert stack_facts(config).helm_releases == most


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({}, 32),
        ({"sources": 30}, 60),
        ({"sources": 300, "fluxObjects": 300}, 600),
        ({"sources": 1}, 32),
        ({"fluxObjects": 3}, 6),
    ],
)
def test_the_quota_of_sources_and_charts_decides_how_many_workers_they_can_occupy(tmp_path, limits, most):
    config = load(tmp_path, tenants={"dev-team": TWO_NAMESPACES}, tenancy={"limits": limits})

    assert stack_facts(config).sources == most


def test_key_services_of_all_syncs_are_known_once(tmp_path):
    identity = {"provider": "aws", "roleArn": "arn:aws:iam::123456789012:role/sops", "keys": KEYS}
    tenant = {"sync": {"decryption": {"workloadIdentity": identity}}}

    config = load(tmp_path, tenants={"dev-team": tenant}, flux=FLUX | {"workloadIdentity": True})

    assert stack_facts(config).key_services == ("kms.eu-1.amazonaws.com", "sts.eu-1.amazonaws.com")


@pytest.mark.parametrize(
    ("rights", "tenant", "namespaces"),
    [("release", {}, 6), ("release", {"capsule": {"namespaces": 2}}, 3), ("impersonate", {}, 2)],
)
def test_namespaces_that_a_tenant_makes_count_where_flux_applies_to_them(tmp_path, rights, tenant, namespaces):
    config = load(
        tmp_path,
        capsule=CAPSULE,
        tenants={"dev-team": TWO_NAMESPACES | tenant},
        tenancy={"mode": "capsule", "limits": {"kustomizations": 7, "helmReleases": 3}},
        flux=FLUX | {"controllerRights": rights},
    )

    found = stack_facts(config)

    assert (found.kustomizations, found.helm_releases) == (7 * namespaces, 3 * namespaces)
