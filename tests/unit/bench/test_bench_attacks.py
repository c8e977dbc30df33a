"""Each attack fits the quota of a tenant and names only what its repository has."""

from __future__ import annotations

from collections import Counter

import pytest

from dev.bench.attacks import ATTACKS, LARGE_BRANCH, PATTERNS_BRANCH, Attack, Site, attackers_files
from flux_tenancy.components.tenant.limits import TenantLimits
from tests.support.largest_pod import SIZES, largest_pod

SITE = Site("busy", "https://git.example.com/busy.git", "https://silent.example.com")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_fits_the_quota_and_the_repository(attack: Attack) -> None:
    limits, manifests, files = TenantLimits(), attack.objects(SITE), attackers_files("busy") | {"staging/": ""}
    counts = Counter(each["kind"] for each in manifests)

    # The tenant's own sync is a Kustomization as well.
    assert counts["Kustomization"] < limits.kustomizations
    assert counts["HelmRelease"] <= limits.helm_releases
    assert len({(each["kind"], each["metadata"]["name"]) for each in manifests}) == len(manifests)
    for spec in (each.get("spec", {}) for each in manifests):
        path = spec.get("path") or spec.get("chart", {}).get("spec", {}).get("chart", "./staging")
        assert any(name.startswith(f"{path.removeprefix('./')}/") for name in files)
        assert spec.get("ref", {}).get("branch", LARGE_BRANCH) in (LARGE_BRANCH, PATTERNS_BRANCH)
    assert manifests or attack.asked(SITE) or attack.ends
    assert {each["metadata"]["namespace"] for each in attack.asked(SITE)} <= {SITE.tenant}


def test_the_largest_pod_has_as_much_of_everything_as_the_policies_allow() -> None:
    spec = largest_pod("busy")["spec"]
    projected = [source for volume in spec["volumes"] for source in volume["projected"]["sources"]]

    assert (len(spec["containers"]), len(spec["volumes"]), len(projected)) == (
        SIZES.containers,
        SIZES.volumes,
        SIZES.projected_sources,
    )
    assert len(largest_pod("busy", SIZES.containers + 1)["spec"]["containers"]) == SIZES.containers + 1
