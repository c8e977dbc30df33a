"""A tenant's plan: what a feature plans is known to everything that has to know it, without a further line."""

from __future__ import annotations

import pytest
from recorded_program import run
from sample_plan import NO_GIT_HOST, room_for, tenant_args, tenant_objects
from sample_stack import FLUX, load, removal, tenant_config

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.stack.cluster.conflicts import name_conflicts
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant import plan
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.config import TenancyConfig, TenantState
from flux_tenancy.components.tenant.quotas import counted

LABELS = {"toolkit.fluxcd.io/tenant": "dev-team"}
CONFIG = tenant_config(namespaces=[{"name": "apps"}, {"name": "apps-jobs"}])
ADDED = "Receiver apps-jobs/further"


def further(tenant):
    """A feature that nothing but the list of features knows."""
    metadata = {"name": "further", "namespace": "apps-jobs", "labels": LABELS}
    manifest = {"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver", "metadata": metadata, "spec": {}}
    yield Planned(Stage.CONTENT, manifest)


@pytest.fixture
def _one_more(monkeypatch):
    monkeypatch.setattr(plan, "FEATURES", (*plan.FEATURES, further))


def registered(config=CONFIG):
    return run(lambda: Tenant("dev-team", tenant_args(config, NO_GIT_HOST, TenancyConfig(), removal())) and None)


@pytest.mark.usefixtures("_one_more")
def test_one_more_object_is_registered_in_its_order_and_deleted_as_its_kind_needs():
    resources = registered()

    assert resources[ADDED].parent == "Tenant dev-team"
    assert {"Namespace apps-jobs", "ResourceQuota apps-jobs/dev-team-objects"} <= resources[ADDED].after
    assert ADDED in resources["RoleBinding apps/dev-team-reconciler"].after
    assert (resources[ADDED].delete_timeout, resources[ADDED].on_error) == ("60s", {"offboarding-part"})


@pytest.mark.usefixtures("_one_more")
def test_quotas_have_room_for_one_more_object_and_wait_until_they_count_it():
    receivers = "count/receivers.notification.toolkit.fluxcd.io"

    assert room_for(CONFIG, "apps-jobs")[receivers] == 1
    [quota] = (
        each["spec"]["hard"]
        for each in tenant_objects("dev-team", CONFIG).limits
        if each["metadata"]["name"] == "dev-team-flux-objects" and each["metadata"]["namespace"] == "apps-jobs"
    )
    assert quota[receivers] == "101"
    assert receivers in counted(tenant_objects("dev-team", CONFIG).planned)["apps-jobs"]["dev-team-flux-objects"]


@pytest.mark.usefixtures("_one_more")
def test_the_name_of_one_more_object_must_be_free(tmp_path):
    config = load(tmp_path, flux=FLUX, tenants={"dev-team": {"namespaces": [{"name": "apps"}, {"name": "apps-jobs"}]}})
    facts = ClusterFacts("a", "v1.36.3", {"apps-jobs": LABELS})

    def find(manifest):
        return {"metadata": {}} if manifest["kind"] == "Receiver" else None

    [conflict] = name_conflicts(config, stack_plan(config, "staging"), facts, State({}), find)

    assert "Receiver apps-jobs/further" in conflict.message


@pytest.mark.usefixtures("_one_more")
def test_one_more_object_goes_when_its_tenant_is_leaving():
    leaving = CONFIG.model_copy(update={"state": TenantState.LEAVING})

    assert ADDED in registered()
    assert ADDED not in registered(leaving)


def test_limits_stay_as_they_are_when_a_tenant_is_leaving():
    leaving = CONFIG.model_copy(update={"state": TenantState.LEAVING})

    assert tenant_objects("dev-team", leaving).limits == tenant_objects("dev-team", CONFIG).limits


def test_what_is_planned_has_keys_of_its_own():
    keys = [each.key for each in tenant_objects("dev-team", CONFIG).planned]

    assert len(keys) == len(set(keys))
