"""A namespace that is in the state but missing from the cluster is created again once, and then not changed again."""

import pytest
from recorded_program import run
from sample_plan import tenant_args
from sample_stack import removal, tenant_config

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.recovery.missing_namespaces import LostNamespaces
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig

NAMESPACE = "kubernetes:core/v1:Namespace"
COUNT = "flux-tenancy/created-again"


def lost(existing, count=None, more=()):
    annotations = {COUNT: count} if count else None
    recorded = {(NAMESPACE, "apps"): {"metadata": {"name": "apps", "annotations": annotations}}}
    return LostNamespaces(State(recorded | dict.fromkeys(more, {})), existing)


def registered(lost):
    def program():
        access = GitAccess(known_hosts=(), github=None, webhook_url=None)
        Tenant("dev-team", tenant_args(tenant_config(), access, TenancyConfig(), removal()[0], lost))

    found = run(program)["Namespace apps"]
    return found.properties["metadata"]["annotations"].get(COUNT), found.replaced


@pytest.mark.parametrize(("count", "next_count"), [(None, "1"), ("1", "2"), ("by hand", "1")])
def test_a_lost_namespace_is_created_again(count, next_count):
    assert registered(lost(existing=["kube-system"], count=count)) == (next_count, {"metadata"})


@pytest.mark.parametrize("count", [None, "1"])
def test_an_existing_namespace_is_not_changed(count):
    assert registered(lost(existing=["apps"], count=count)) == (count, set())


def test_a_namespace_of_another_cluster_is_left_to_the_engine():
    assert registered(lost(existing=None)) == (None, set())


def test_a_new_namespace_is_created():
    assert registered(LostNamespaces(State({}), [])) == (None, set())


def test_objects_in_the_state_inside_a_lost_namespace_are_found():
    more = [("kubernetes:core/v1:Secret", "apps/key"), ("kubernetes:core/v1:Secret", "apps-jobs/key")]

    assert lost([], more=more).contents("apps") == ["apps/key"]


def test_a_secret_with_a_generated_name_is_also_found_inside_its_namespace():
    secrets = {
        ("kubernetes:core/v1:Secret", f"{tenant}-git"): {
            "metadata": {"name": f"{tenant}-git-0", "namespace": namespace}
        }
        for tenant, namespace in (("dev-team", "apps"), ("ops-team", "apps-jobs"))
    }

    assert LostNamespaces(State(secrets), []).contents("apps") == ["dev-team-git"]
