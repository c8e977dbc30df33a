"""Tenants' requests in a priority level of their own."""

from sample_stack import CLUSTER, DEV_TEAM_BASE, load

from flux_tenancy.components.stack.platform_objects import request_priority

TENANTS = {
    "dev-team": {"namespaces": [{"name": "apps"}, {"name": "apps-more"}]},
    "ops-team": {"namespaces": [{"name": "ops"}]},
    "gone": {"namespaces": [{"name": "gone"}], "state": "leaving"},
}
BASES = dict.fromkeys(TENANTS, DEV_TEAM_BASE)
SHARES = {"requestShares": 4}


def test_each_tenant_is_one_flow_of_a_level_that_borrows_nothing(tmp_path):
    level, *schemas = request_priority(load(tmp_path, bases=BASES, tenants=TENANTS, tenancy=SHARES))

    limited = level["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["borrowingLimitPercent"]) == (4, 0)
    groups = {
        each["metadata"]["name"]: [subject["group"]["name"] for subject in each["spec"]["rules"][0]["subjects"]]
        for each in schemas
    }
    assert groups == {
        "flux-tenancy-tenants-dev-team": ["system:serviceaccounts:apps", "system:serviceaccounts:apps-more"],
        "flux-tenancy-tenants-ops-team": ["system:serviceaccounts:ops"],
    }
    for each in schemas:
        assert "distinguisherMethod" not in each["spec"]
        assert each["spec"]["priorityLevelConfiguration"] == {"name": level["metadata"]["name"]}


def test_without_shares_there_is_nothing_and_previewers_read_what_there_is(tmp_path):
    assert request_priority(load(tmp_path, bases=BASES, tenants=TENANTS)) == []

    cluster = CLUSTER | {"previewers": [{"kind": "Group", "name": "reviewers"}]}
    found = request_priority(load(tmp_path, bases=BASES, tenants=TENANTS, tenancy=SHARES, cluster=cluster))
    assert [each["kind"] for each in found[-2:]] == ["ClusterRole", "ClusterRoleBinding"]
    assert found[-2]["rules"][0]["resources"] == ["flowschemas", "prioritylevelconfigurations"]
