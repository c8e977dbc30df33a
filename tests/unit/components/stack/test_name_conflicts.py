"""An object of the platform whose name is taken is left out, with a message; everything else is applied."""

import re
from typing import Any

import pytest
from sample_sources import authority
from sample_stack import CLUSTER, FLUX, load

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.policies.values import shared_places
from flux_tenancy.components.stack.cluster.conflicts import name_conflicts
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.vocabulary.manifests import name_of, resource_type

TENANT = "toolkit.fluxcd.io/tenant"
OURS = {"apps": {TENANT: "dev-team"}}
WEBHOOK: dict[str, Any] = {"dev-team": {"source": {"webhook": {}}}}
SECRET = "Secret apps/dev-team-webhook"


def found(project, existing, *, namespaces=OURS, recorded=(), **sections):
    """What is told of a cluster that has these objects, and what it was asked for."""
    flux = FLUX | {"webhookUrl": "https://hooks.example.com"}
    config = load(project, **({"flux": flux, "tenants": WEBHOOK} | sections))
    asked = []

    def find(manifest):
        asked.append(f"{manifest['kind']} {name_of(manifest)}")
        return existing.get(asked[-1])

    facts = ClusterFacts("a", "v1.36.3", namespaces)
    state = State(dict.fromkeys(recorded, {}))
    return name_conflicts(config, stack_plan(config, "staging"), facts, state, find), asked


def test_an_immutable_secret_with_a_name_of_the_platform_must_be_deleted(tmp_path):
    [conflict], _ = found(tmp_path, {SECRET: {"metadata": {}, "immutable": True}})

    assert (conflict.tenant, conflict.message.code) == ("dev-team", "FT-CLU-114")
    assert "Secret apps/dev-team-webhook" in conflict.message
    assert "`kubectl delete secret dev-team-webhook -n apps`" in conflict.message


@pytest.mark.parametrize("labels", [{}, {TENANT: "ops-team"}, {"team": "dev-team"}])
def test_an_object_that_can_be_changed_may_be_handed_over(tmp_path, labels):
    [conflict], _ = found(tmp_path, {"Receiver apps/dev-team": {"metadata": {"labels": labels}}})

    assert (conflict.tenant, conflict.message.code) == ("dev-team", "FT-CLU-114")
    assert f"`kubectl label receiver dev-team -n apps {TENANT}=dev-team`" in conflict.message


def test_the_remedy_for_a_kustomization_keeps_what_it_has_applied(tmp_path):
    [conflict] = found(tmp_path, {"Kustomization apps/dev-team": {"metadata": {}}})[0]

    assert conflict.message.code == "FT-CLU-114"
    steps = (
        "`flux suspend kustomization dev-team -n apps`",
        "remove it from its repository",
        "`kubectl delete kustomization dev-team -n apps`",
    )
    found_at = [conflict.message.find(step) for step in steps]
    assert -1 not in found_at and found_at == sorted(found_at)
    assert "kubectl label" not in conflict.message


def test_every_object_of_the_tenant_that_is_not_in_the_state_is_looked_up(tmp_path):
    _, asked = found(tmp_path, {}, recorded=[(resource_type({"apiVersion": "v1", "kind": "Secret"}), SECRET[7:])])

    assert sorted(asked) == [
        "GitRepository apps/dev-team",
        "Kustomization apps/dev-team",
        "LimitRange apps/dev-team-containers",
        "Receiver apps/dev-team",
        "ResourceQuota apps/dev-team-flux-objects",
        "ResourceQuota apps/dev-team-objects",
        "Role apps/flux-impersonation",
        "Role apps/flux-webhooks",
        "RoleBinding apps/dev-team-reconciler",
        "RoleBinding apps/flux-impersonation",
        "RoleBinding apps/flux-secrets",
        "RoleBinding apps/flux-webhooks",
        "ServiceAccount apps/dev-team",
    ]


def test_a_secret_with_a_generated_name_is_not_looked_up(tmp_path):
    source = {"url": "https://git.example.com/apps", "certificateAuthority": authority()}

    _, asked = found(tmp_path, {}, tenants={"dev-team": {"source": source}})

    assert "GitRepository apps/dev-team" in asked
    assert not [name for name in asked if name.startswith("Secret")]


def test_a_provider_that_a_tenant_has_created_before_is_not_taken_over(tmp_path):
    alertmanager = {"type": "alertmanager", "address": "https://alertmanager.example.com"}
    tenants = {"dev-team": {"notifications": {"chat": alertmanager}}}

    [conflict], asked = found(tmp_path, {"Provider apps/dev-team-chat": {"metadata": {}}}, tenants=tenants)

    assert (conflict.tenant, conflict.message.code) == ("dev-team", "FT-CLU-114")
    assert "Alert apps/dev-team-chat" in asked


def test_an_object_with_the_tenants_label_belongs_to_the_platform(tmp_path):
    assert found(tmp_path, {SECRET: {"metadata": {"labels": {TENANT: "dev-team"}}}})[0] == []


@pytest.mark.parametrize(
    "more",
    [{"namespaces": {}}, {"namespaces": {"apps": {}}}, {"cluster": CLUSTER | {"adopt": True}}],
)
def test_nothing_is_looked_up_in_a_new_namespace_or_with_adoption(tmp_path, more):
    assert found(tmp_path, {SECRET: {"metadata": {}}}, **more) == ([], [])


def test_a_tenant_that_is_leaving_needs_only_the_names_of_its_limits(tmp_path):
    _, asked = found(tmp_path, {}, tenants={"dev-team": {"state": "leaving"}})

    quotas = ["ResourceQuota apps/dev-team-flux-objects", "ResourceQuota apps/dev-team-objects"]
    assert asked == [*quotas, "LimitRange apps/dev-team-containers"]


def test_the_names_of_all_roles_bindings_and_accounts_are_reserved(tmp_path):
    """Except for names that the stack's file chooses; the tenant's own account is there as soon as its namespace is."""
    name, chosen = "dev-team", {"dev-team", "checkout-team"}
    config = load(
        tmp_path,
        flux=FLUX | {"version": "2.10.0", "workloadIdentity": True, "webhookUrl": "https://hooks.example.com"},
        tenancy={"kinds": ["Receiver"], "grantableGroups": ["a.example.com"]},
        tenants={
            name: {
                "source": {"webhook": {}},
                "namespaces": [{"name": "apps"}, {"name": "checkout", "delegatedTo": "checkout-team"}],
                "sync": {"decryption": {"workloadIdentity": {"provider": "gcp"}}},
                "people": {key: [{"kind": "User", "name": "ann"}] for key in ("viewers", "developers")},
                "grants": [
                    {
                        "reason": "TICKET-12",
                        "rules": [{"apiGroups": ["a.example.com"], "resources": ["as"], "verbs": ["get"]}],
                    }
                ],
            }
        },
    )
    planned = {(each.kind, each.name) for _, each in stack_plan(config, "staging").named_in_tenants}
    names = {called for kind, called in planned if kind in ("Role", "RoleBinding", "ServiceAccount")} - chosen
    reserved = str(shared_places()["patterns.accessName"])

    assert {"flux-tokens", "flux-receivers", f"{name}-grants", f"{name}-delegation"} < names
    assert {each for each in names if not re.search(reserved, each.removeprefix(name))} == set()
