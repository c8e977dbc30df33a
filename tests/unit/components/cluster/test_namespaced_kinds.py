"""The kinds of namespaced objects, as the API server lists them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client
from loopback import serving

from flux_tenancy.components.cluster.client import ClusterUnavailable, NamespacedKind, read_namespaced_kinds

ALL = ["create", "delete", "get", "list"]


def resource(name: str, kind: str, *, scope: str = "Namespaced", verbs: list[str] = ALL) -> dict[str, Any]:
    return {"resource": name, "responseKind": {"kind": kind}, "scope": scope, "verbs": verbs}


def discovery(**groups: dict[str, list[dict[str, Any]]]) -> bytes:
    """The answer of an API server: the resources of each version of each group."""
    described = [
        {
            "metadata": {"name": name} if name != "core" else {},
            "versions": [{"version": version, "resources": found} for version, found in versions.items()],
        }
        for name, versions in groups.items()
    ]
    return json.dumps({"kind": "APIGroupDiscoveryList", "items": described}).encode()


CORE = discovery(
    core={
        "v1": [
            resource("secrets", "Secret"),
            resource("nodes", "Node", scope="Cluster"),
            resource("bindings", "Binding", verbs=["create"]),
        ]
    }
)
GROUPS = discovery(
    batch={"v1": [resource("jobs", "Job")], "v1beta1": [resource("jobs", "Job"), resource("tasks", "Task")]},
    metrics={"v1": [resource("pods", "PodMetrics", verbs=["get", "list"])]},
)


def test_each_kind_that_can_be_deleted_is_listed_once_in_its_preferred_version() -> None:
    with serving({"/api": CORE, "/apis": GROUPS}) as server:
        found = read_namespaced_kinds(client.ApiClient(client.Configuration(host=server)))

    assert found == [
        NamespacedKind("Secret", "/api/v1", "secrets"),
        NamespacedKind("Job", "/apis/batch/v1", "jobs"),
        NamespacedKind("Task", "/apis/batch/v1beta1", "tasks"),
    ]
    assert found[1].path("apps") == "/apis/batch/v1/namespaces/apps/jobs"


@pytest.mark.parametrize("status", [200, 403])
def test_a_cluster_that_does_not_list_its_kinds_is_unavailable(status: int) -> None:
    with serving({}, status) as server, pytest.raises(ClusterUnavailable):
        read_namespaced_kinds(client.ApiClient(client.Configuration(host=server)))
