"""A name that the platform needs and somebody else has is told before anything is applied."""

from typing import Any

import pytest
from sample_sources import authority
from sample_stack import CLUSTER, FLUX, load

from components.cluster.client import ClusterFacts
from components.cluster.manifests import name_of, resource_type
from components.engine.state import State
from components.stack.taken_names import taken_names

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
    problems = taken_names(config, facts, State(dict.fromkeys(recorded, {})), find, "Pulumi.staging.yaml")
    return [str(problem) for problem in problems], asked


def test_an_immutable_secret_in_the_place_of_the_platforms_is_told(tmp_path):
    problems, _ = found(tmp_path, {SECRET: {"metadata": {}, "immutable": True}})

    assert problems == [
        "Pulumi.staging.yaml: tenants.dev-team: Secret apps/dev-team-webhook is in the cluster and not the platform's, "
        "which needs the name; delete it with `kubectl delete secret dev-team-webhook -n apps`"
    ]


@pytest.mark.parametrize("labels", [{}, {TENANT: "ops-team"}, {"team": "dev-team"}])
def test_what_may_be_changed_may_be_handed_over(tmp_path, labels):
    problems, _ = found(tmp_path, {"Receiver apps/dev-team": {"metadata": {"labels": labels}}})

    assert len(problems) == 1
    assert problems[0].endswith(f"or hand it over with `kubectl label receiver dev-team -n apps {TENANT}=dev-team`")


def test_every_object_of_the_tenant_is_looked_for_that_is_not_the_stacks_own(tmp_path):
    _, asked = found(tmp_path, {}, recorded=[(resource_type({"apiVersion": "v1", "kind": "Secret"}), SECRET[7:])])

    assert asked == [
        "ResourceQuota apps/dev-team-flux-objects",
        "ResourceQuota apps/dev-team-objects",
        "ServiceAccount apps/dev-team",
        "RoleBinding apps/dev-team-reconciler",
        "Kustomization apps/dev-team",
        "GitRepository apps/dev-team",
        "Receiver apps/dev-team",
    ]


def test_a_secret_whose_name_is_generated_is_not_looked_for(tmp_path):
    source = {"url": "https://git.example.com/apps", "certificateAuthority": authority()}

    _, asked = found(tmp_path, {}, tenants={"dev-team": {"source": source}})

    assert "GitRepository apps/dev-team" in asked
    assert not [name for name in asked if name.startswith("Secret")]


def test_what_the_platform_has_put_there_is_its_own(tmp_path):
    assert found(tmp_path, {SECRET: {"metadata": {"labels": {TENANT: "dev-team"}}}})[0] == []


@pytest.mark.parametrize(
    "more",
    [{"namespaces": {}}, {"namespaces": {"apps": {}}}, {"cluster": CLUSTER | {"adopt": True}}],
)
def test_nothing_is_asked_of_a_new_namespace_or_a_cluster_that_is_taken_over(tmp_path, more):
    assert found(tmp_path, {SECRET: {"metadata": {}}}, **more) == ([], [])
