"""What is left of a killed update once the next one has succeeded."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fake_cluster import FakeCluster, served
from sample_state import CONTROLLER, DEFINITION, LISTS, NAMESPACE, RESOURCES, SECRET, managed

from flux_tenancy.operations import drift_search, interrupted
from flux_tenancy.operations.interrupted import finish, former_managers, leftover_secret_paths
from flux_tenancy.operations.recorded_state import recorded_state

KILLED = "pulumi-kubernetes-0a1b2c3d"
DEPLOYMENTS, NAMESPACES, SECRETS = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Namespace", drift_search.SECRET
SOURCES = "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository"
DEFINITIONS = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
STATE = recorded_state(RESOURCES)


def also_by(manager: str, found: dict[str, Any]) -> dict[str, Any]:
    """An object that another field manager has applied, too."""
    both = copy.deepcopy(found)
    both["metadata"]["managedFields"].append(managed({"f:spec": {"f:replicas": {}}}, manager))
    return both


def secret(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": copy.deepcopy(SECRET["metadata"]) | {"name": name, **metadata}}


def source(name: str) -> dict[str, Any]:
    return {"metadata": {"name": "shop", "namespace": "apps"}, "spec": {"secretRef": {"name": name}}}


def test_the_manager_of_a_killed_update_is_told_from_that_in_the_state_and_from_others():
    lists = {
        DEPLOYMENTS: [also_by("kubectl-edit", also_by(KILLED, CONTROLLER))],
        NAMESPACES: [NAMESPACE, also_by(KILLED, {"metadata": NAMESPACE["metadata"] | {"name": "of-others"}})],
    }

    (found,) = former_managers(STATE.objects, lists)

    assert found.manager == KILLED
    assert found.manifest == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kustomize-controller", "namespace": "flux-system"},
    }


def test_a_manager_that_has_only_updated_owns_nothing_that_an_apply_could_end():
    updated = copy.deepcopy(CONTROLLER)
    updated["metadata"]["managedFields"].append(managed({"f:status": {}}, KILLED, operation="Update"))

    assert list(former_managers(STATE.objects, {DEPLOYMENTS: [updated]})) == []


def test_a_cluster_scoped_object_has_no_namespace():
    (found,) = former_managers(STATE.objects, {NAMESPACES: [also_by(KILLED, NAMESPACE)]})

    assert found.manifest["metadata"] == {"name": NAMESPACE["metadata"]["name"]}


@pytest.mark.parametrize(
    ("name", "metadata", "deleted"),
    [
        ("shop-git-0a1b2c3d", {}, True),
        ("shop-git-4e5f6a7b", {}, False),
        ("shop-git", {}, False),
        ("shop-git-0a1b2c3d", {"managedFields": [managed({}, "kubectl-create")]}, False),
        (SECRET["metadata"]["name"], {}, False),
    ],
    ids=["left", "in use", "not generated", "of others", "recorded"],
)
def test_a_generated_secret_is_deleted_when_nothing_refers_to_it(name, metadata, deleted):
    lists = {SECRETS: [secret(name, **metadata)], SOURCES: [source("shop-git-4e5f6a7b")], DEFINITIONS: [DEFINITION]}

    assert leftover_secret_paths(STATE, lists) == [f"/api/v1/namespaces/apps/secrets/{name}"] * deleted


def test_a_definition_whose_schema_has_a_reference_refers_to_nothing():
    schema = {"spec": {"secretRef": {"type": "object", "properties": {}}}}
    lists = {SECRETS: [secret("shop-git-0a1b2c3d")], DEFINITIONS: [DEFINITION | schema]}

    assert len(leftover_secret_paths(STATE, lists)) == 1


def test_afterwards_the_cluster_is_repaired(tmp_path, monkeypatch):
    """What a killed update has changed, and this one does not want, differs from the state."""
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")
    cluster = FakeCluster(copy.deepcopy(LISTS))
    deployments = cluster.objects["/apis/apps/v1/deployments"]
    deployments[0] = also_by(KILLED, deployments[0])
    namespaces = cluster.objects["/api/v1/namespaces"]
    namespaces[0] = also_by(KILLED, namespaces[0])
    cluster.patching = lambda *_: deployments[0]
    repaired = []
    monkeypatch.setattr(interrupted, "read_recorded", lambda *_: STATE)
    monkeypatch.setattr(interrupted, "repair", lambda stack, _: repaired.append((stack, len(cluster.patched))))

    with served(cluster, tmp_path):
        finish("staging", tmp_path)

    assert repaired == [("staging", 2)]
    of = {path.partition("?")[0]: (path.partition("?")[2], body) for path, body in cluster.patched}
    assert of.keys() == {
        "/apis/apps/v1/namespaces/flux-system/deployments/kustomize-controller",
        f"/api/v1/namespaces/{NAMESPACE['metadata']['name']}",
    }
    for query, body in of.values():
        assert query == f"fieldManager={KILLED}&force=true" and "spec" not in body
