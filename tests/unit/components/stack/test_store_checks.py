"""Whether all tenants together can store more than the stack states."""

import pytest
from sample_capsule import CAPSULE
from sample_stack import load, problems

from flux_tenancy.components.stack.checks.tenants import overfull_store
from flux_tenancy.components.stack.plan import stack_plan
from tests.support.messages import said, values_of

SMALL = {"namespace": "64Mi"}


def warnings(folder, tenant=None, tenancy=None, **stack):
    given = tenancy or {}
    stack["tenancy"] = given | {"store": {"total": "1Gi"} | given.get("store", {})}
    return list(overfull_store(load(folder, tenants={"dev-team": tenant or {}}, **stack), "staging"))


def spread(number):
    return {"namespaces": [{"name": f"apps-{at}"} for at in range(number)], "sync": {"targetNamespace": "apps-0"}}


def test_the_default_numbers_of_one_namespace_are_more_than_half_of_etcd(tmp_path):
    [warning] = warnings(tmp_path)

    assert warning.code == "FT-TEN-109"
    assert values_of(warning)[1] == "1" and "set tenancy.store.namespace to 1024Mi or less" in warning
    assert warnings(tmp_path, tenancy={"store": {"total": "2Gi"}}) == []
    assert warnings(tmp_path, tenancy={"store": {"total": None}}) == []


@pytest.mark.parametrize(("number", "exceeds"), [(16, False), (25, True)])
def test_the_namespaces_of_all_tenants_are_added(tmp_path, number, exceeds):
    found = warnings(tmp_path, spread(number), tenancy={"store": SMALL})

    assert bool(found) is exceeds
    if exceeds:
        total, namespaces, most, stated, share = values_of(found[0])
        assert (namespaces, stated, share) == (str(number), "1Gi", "40")
        assert int(total) > 1024 and 40 < int(most) <= 64 + 2
        followed = {"store": {"namespace": "40Mi"}}
        assert warnings(tmp_path, spread(number), tenancy=followed) == []


def test_a_tenants_own_numbers_and_sizes_count(tmp_path):
    own = {"limits": {"objects": {"secrets": 3000}}, "policies": {"maximumReleaseSize": 1024}}

    [warning] = warnings(tmp_path, own, tenancy={"store": SMALL})

    assert int(values_of(warning)[2]) > 3000


def test_namespaces_that_a_tenant_may_make_count(tmp_path):
    capsule = {"mode": "capsule", "capsule": {"namespaces": 19}, "store": SMALL}

    [warning] = warnings(tmp_path, tenancy=capsule, capsule=CAPSULE)

    assert values_of(warning)[1] == "20"


def test_a_kind_that_no_quota_counts_is_named(tmp_path):
    tenancy = {"store": {"namespace": "64Mi"}, "limits": {"objects": {"secrets": None}}}

    [warning] = warnings(tmp_path, tenancy=tenancy)

    assert (warning.code, "secrets" in warning) == ("FT-TEN-108", True)


def test_the_quotas_of_every_namespace_have_the_numbers_of_its_size(tmp_path):
    def hard(**tenancy):
        config = load(tmp_path, tenants={"dev-team": {}}, tenancy=tenancy)
        quotas = [each for each in stack_plan(config, "staging").tenants["dev-team"] if each.kind == "ResourceQuota"]
        return {key: count for each in quotas for key, count in each.manifest["spec"]["hard"].items()}

    before, after = hard(), hard(store={"namespace": "64Mi"})

    assert before.keys() == after.keys()
    assert before["count/configmaps"] == "501" and int(after["count/configmaps"]) < 30
    assert hard(store={"namespace": "4Gi"}) == before


def test_a_size_below_what_the_other_keys_set_is_refused(tmp_path):
    tenancy = {"store": {"namespace": "64Mi"}, "limits": {"objects": {"secrets": 1000}}}

    [found] = problems(tmp_path, tenancy=tenancy)

    assert found == f"Pulumi.staging.yaml: tenancy.store.namespace: {said('FT-TEN-325', '298')}"
