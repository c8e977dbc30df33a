"""How many bytes a namespace can store at most, and numbers of objects that keep it below a size."""

from pathlib import Path

import pytest

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.stack.config import largest_objects
from flux_tenancy.components.tenant.config import TenantBounds
from flux_tenancy.components.tenant.limits import (
    OBJECT_COUNTS,
    STORED,
    LargestObjects,
    TenantLimits,
    all_counts,
    counted_by,
    most_bytes,
    within,
)
from flux_tenancy.components.tenant.role import MANAGED, flux_resources

KIB, MIB = 1024, 1024 * 1024
LARGEST = LargestObjects(config_map=256 * KIB, secret=300 * KIB, other=128 * KIB)


def limits(**given):
    return TenantLimits.model_validate(given)


def most(given):
    return most_bytes(counted_by(all_counts(given)), LARGEST)


def test_every_kind_that_a_tenant_may_create_is_counted_with_its_size():
    creatable = {f"{each}.{group}".rstrip(".") for group, several in MANAGED for each in several if "/" not in each}

    assert creatable < STORED == set(counted_by(all_counts(limits())))
    assert most_bytes({"configmaps": 2, "secrets": 3, "pods": 5}, LARGEST) == (2 * 256 + 3 * 300 + 5 * 128) * KIB


def test_numbers_of_a_quota_are_read_with_and_without_prefix_and_compute_resources_are_not():
    hard = {"pods": "2k", "count/jobs.batch": "7", "requests.cpu": "4", "services.loadbalancers": "9"}

    assert counted_by(hard) == {"pods": 2000, "jobs.batch": 7}


@pytest.mark.parametrize("size", [64 * MIB, 128 * MIB, 512 * MIB])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"objects": {"secrets": 150, "count/pods": 100}},
        {"fluxObjects": 20, "quota": {"configmaps": "50", "requests.cpu": "4"}},
        {"helmReleases": 30, "sources": 2},
    ],
)
def test_a_namespace_stores_no_more_than_its_size_and_nearly_as_much(given, size):
    assert most(limits(**given)) > size

    found = within(limits(**given), size, LARGEST)

    assert 0.7 * size < most(found) <= size
    for name, count in given.get("objects", {}).items():
        assert found.objects[name] == count
    assert counted_by(all_counts(found)).keys() == STORED


def test_numbers_become_smaller_in_the_same_proportion():
    found = within(limits(), 320 * MIB, LARGEST)
    shares = [given / OBJECT_COUNTS[name] for name, given in found.objects.items() if given is not None]

    assert max(shares) - min(shares) < 0.02
    assert found.flux_objects < limits().flux_objects


def test_a_size_that_is_large_enough_changes_nothing():
    assert within(limits(), 4096 * MIB, LARGEST) == limits()
    everything = dict.fromkeys(OBJECT_COUNTS, 1)
    assert within(limits(objects=everything, fluxObjects=1), 1, LARGEST).objects == everything


@pytest.mark.parametrize(
    ("policies", "own", "expected"),
    [
        ({}, {}, (256, 300, 128)),
        ({"maximumSizes": {"data": 512, "object": 32}}, {}, (512, 512, 32)),
        ({"maximumReleaseSize": 600}, {}, (256, 928, 128)),
        ({}, {"maximumReleaseSize": 1024}, (256, 1496, 128)),
        ({"modes": {"object-size": "audit"}}, {}, (1536, 1536, 1536)),
        ({"engine": "none"}, {}, (1536, 1536, 1536)),
        ({"modes": {"release-size": "off"}}, {}, (256, 1536, 128)),
        ({"engine": "kyverno"}, {}, (256, 300, 128)),
    ],
)
def test_an_object_is_as_large_as_the_policies_that_are_enforced_allow(policies, own, expected):
    found = largest_objects(PoliciesConfig.model_validate(policies), TenantBounds.model_validate(own))

    assert (found.config_map, found.secret, found.other) == tuple(each * KIB for each in expected)


def rows(start):
    """The rows of the table in docs/sizing.md whose header starts with a text, as numbers where they are."""
    page = (Path(__file__).parents[4] / "docs" / "sizing.md").read_text()
    table = page[page.index(start) :].split("\n\n")[0]
    return [[each.strip() for each in line.strip("| ").split("|")] for line in table.splitlines()[2:]]


def number(text):
    return int(text.removesuffix(" MiB").replace(",", ""))


def test_the_page_on_sizing_says_what_a_namespace_can_store_by_default():
    largest, counts = largest_objects(PoliciesConfig()), counted_by(all_counts(limits()))
    kinds = {
        "ConfigMaps": ["configmaps"],
        "Secrets": ["secrets"],
        "all others": STORED - {"configmaps", "secrets", *flux_resources()},
        "Flux's": flux_resources(),
    }
    *said, total, fifty = rows("| kind | objects | KiB each")

    for row, (name, resources) in zip(said, kinds.items(), strict=True):
        some = {each: counts[each] for each in resources}
        [size] = {largest.of(each) // KIB for each in some}
        assert row[0].startswith(name)
        assert [number(each) for each in row[1:]] == [sum(some.values()), size, round(most_bytes(some, largest) / MIB)]
    assert number(total[-1]) == round(most_bytes(counts, largest) / MIB)
    assert fifty[-1] == f"{round(50 * most_bytes(counts, largest) / MIB / 1024)} GiB"


def test_the_page_on_sizing_says_what_fits_into_a_namespace():
    for size, kib, *said in rows("| `namespace` | `object`"):
        largest = largest_objects(PoliciesConfig.model_validate({"maximumSizes": {"object": int(kib)}}))
        found = counted_by(all_counts(within(limits(), number(size.removesuffix("Mi")) * MIB, largest)))
        names = ("configmaps", "secrets", "pods", "deployments.apps", "replicasets.apps")
        in_store = [each * 1024 // number(size.removesuffix("Mi")) for each in (1, 4)]
        assert [number(each) for each in said] == [*(found[name] for name in names), *in_store]
