"""What is left of a killed update once the next one has succeeded."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fake_cluster import FakeCluster, served
from sample_state import DEFINITION, LISTS, RESOURCES, SECRET, managed

from flux_tenancy.operations import drift_search, interrupted
from flux_tenancy.operations.interrupted import finish, leftover_secret_paths
from flux_tenancy.operations.recorded_state import recorded_state

SECRETS = drift_search.SECRET
SOURCES = "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository"
DEFINITIONS = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
STATE = recorded_state(RESOURCES)


def secret(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": copy.deepcopy(SECRET["metadata"]) | {"name": name, **metadata}}


def source(name: str) -> dict[str, Any]:
    return {"metadata": {"name": "shop", "namespace": "apps"}, "spec": {"secretRef": {"name": name}}}


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


@pytest.mark.parametrize("left", [True, False])
def test_afterwards_the_cluster_is_repaired(tmp_path, monkeypatch, capsys, left):
    """What a killed update has changed, and this one does not want, differs from the state."""
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")
    cluster = FakeCluster(copy.deepcopy(LISTS))
    cluster.objects["/api/v1/secrets"] += [secret("shop-git-0a1b2c3d")] * left
    done: list[object] = []
    monkeypatch.setattr(interrupted, "read_recorded", lambda *_: STATE)
    monkeypatch.setattr(interrupted, "delete_objects", lambda _, paths: done.extend(paths))
    monkeypatch.setattr(interrupted, "repair", lambda stack, _: done.append(stack))

    with served(cluster, tmp_path):
        finish("staging", tmp_path)

    assert done == [*["/api/v1/namespaces/apps/secrets/shop-git-0a1b2c3d"] * left, "staging"]
    said = "An earlier update was interrupted: 1 Secret deleted that it has left.\n"
    assert capsys.readouterr().err == said * left
