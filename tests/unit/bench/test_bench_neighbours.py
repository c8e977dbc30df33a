"""A tenant's pushes are timed alone, then beside a tenant that uses up its quota."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from bench import neighbours
from bench.neighbours import ALWAYS, BUSY, INTERVALS, NOBODY, OBJECTS, QUIET, measure_neighbours
from bench.rig import Rig

ROOM = 3


@dataclass
class FakeCluster:
    """A rig, its project and its Git host in one; every commit is applied immediately.

    Attributes:
        commits: tenant and files of each commit, in order.
        asked: paths of the objects whose reconciliation was requested.
    """

    kubeconfig: str = "kubeconfig"
    commits: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    running: bool = False

    @property
    def lab(self) -> FakeCluster:
        return self

    git = cluster = project = lab
    folder = Path()

    def start_git_host(self) -> None:
        pass

    def repository(self, organization: str, name: str, files: Mapping[str, str], folder: Path) -> str:
        assert list(files) == ["staging/config.yaml"]
        return f"git/{organization}/{name}"

    def configure(self, tenants: Mapping[str, str], policies: dict[str, Any], kyverno: None) -> None:
        assert tenants == {QUIET: "git/bench/quiet", BUSY: "git/bench/busy"}
        assert policies["engine"] == "native"

    def up(self) -> None:
        assert not self.running

    def scale_flux(self, replicas: int) -> None:
        self.running = replicas == 1

    def token(self, tenant: str) -> str:
        return tenant

    def commit_files(self, organization: str, name: str, files: Mapping[str, str], message: str) -> str:
        self.commits.append((name, files))
        return f"commit-{len(self.commits)}"


class FakeClient:
    cluster: FakeCluster

    def __init__(self, kubeconfig: str, token: str) -> None:
        self.tenant = token

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def timed(self, method: str, path: str, body: Any) -> float:
        assert method == "PATCH" and f"/namespaces/{self.tenant}/" in path
        self.cluster.asked.append(path.split("/", 3)[3])
        return 0.0

    def read(self, path: str) -> dict[str, Any]:
        status: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True"}]}
        if "resourcequotas" in path:
            count = "count/kustomizations.kustomize.toolkit.fluxcd.io"
            status = {"hard": {count: str(ROOM + 1)}, "used": {count: "1"}}
        status["lastAppliedRevision"] = f"main@sha1:commit-{len(self.cluster.commits)}"
        return {"metadata": {}, "spec": {}, "status": status}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    cluster = FakeCluster()
    monkeypatch.setattr(FakeClient, "cluster", cluster, raising=False)
    monkeypatch.setattr(neighbours, "TenantClient", FakeClient)
    return cluster


def test_each_neighbour_gets_the_same_number_of_samples_in_order(cluster: FakeCluster) -> None:
    lines: list[str] = []
    samples = measure_neighbours(cast(Rig, cluster), 2, lines.append)

    order = (NOBODY, INTERVALS, ALWAYS)
    assert [line.partition(":")[0] for line in lines] == [f"beside {beside}" for beside in order for _ in range(2)]
    assert {beside: len(taken) for beside, taken in samples.items()} == dict.fromkeys(order, 2)


def test_the_busy_tenant_has_as_many_kustomizations_as_its_quota_allows(cluster: FakeCluster) -> None:
    measure_neighbours(cast(Rig, cluster), 1, lambda *_: None)

    [load] = [files for tenant, files in cluster.commits if tenant == BUSY and len(files) > 1]
    syncs = list(yaml.safe_load_all(load["staging/syncs.yaml"]))
    assert [sync["spec"]["interval"] for sync in syncs] == ["30s"] * ROOM
    assert len(list(yaml.safe_load_all(load["load/objects.yaml"]))) == OBJECTS
    before = [tenant for tenant, files in cluster.commits[: cluster.commits.index((BUSY, load))]]
    assert before.count(QUIET) == 2, "the first one, and the one alone"


def test_a_commit_is_ready_only_after_it_is_applied() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "lastAppliedRevision": "main@sha1:abc"}

    def is_applied(commit: str, **changed: Any) -> bool:
        return neighbours.is_applied({"metadata": {}, "spec": {}, "status": {**status, **changed}}, commit)

    assert is_applied("abc")
    assert not is_applied("def")
    assert not is_applied("abc", conditions=[])
