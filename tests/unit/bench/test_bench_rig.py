"""The program accepts the benchmark's project, and kubectl gets exactly its objects."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from sample_release import RELEASE_FILE

from dev.bench.kubectl import tenant_objects
from dev.bench.review import tenants_changed
from dev.bench.rig import Rig, repositories
from dev.lab.pulumi import LabPulumi
from dev.lab.settings import Settings
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project
from tests.support.releases import FLUX_BUNDLE, FLUX_VERSION

FLUX = {
    "version": FLUX_VERSION,
    "sha256": hashlib.sha256(RELEASE_FILE.read_bytes()).hexdigest(),
    "manifests": {"bundle": str(RELEASE_FILE)},
}


class FakePulumi:
    def select(self, stack: str, folder: Path) -> None:
        pass


class FakeLab:
    settings = Settings.load()
    tools: Mapping[str, Path] = {FLUX_BUNDLE: Path(), "kyverno-chart-1.19.1": Path("chart.tgz"), "etcd": Path()}

    def kyverno_chart(self, version: str) -> dict[str, Any]:
        return {"version": version, "chart": {"bundle": str(self.tools[f"kyverno-chart-{version}"])}}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    project = Project(tmp_path / "project", cast(LabPulumi, FakePulumi()))
    rig = Rig(cast(Lab, FakeLab()), RunningCluster("bench", tmp_path / "kubeconfig", ""), project, {})
    rig.configure({}, cluster={"kubeconfig": "kubeconfig"}, flux=FLUX, policies={"engine": "none"})
    return rig


def test_kubectl_gets_all_objects_of_all_tenants_and_none_of_the_platform(rig: Rig) -> None:
    rig.configure(repositories(2))
    objects = tenant_objects(rig.project.folder)

    assert [each["kind"] for each in objects[:3]] == ["Namespace", "Namespace", "GitRepository"]
    namespaces = [each["metadata"].get("namespace", each["metadata"]["name"]) for each in objects]
    assert namespaces.count("team-001") == namespaces.count("team-002") == len(objects) / 2
    assert {"ResourceQuota", "ServiceAccount", "RoleBinding", "Kustomization"} < {each["kind"] for each in objects}


def test_fewer_tenants_replace_more(rig: Rig) -> None:
    for count in (10, 1):
        rig.configure(repositories(count))
    assert {each["metadata"].get("namespace", "team-001") for each in tenant_objects(rig.project.folder)} == {
        "team-001"
    }


@pytest.mark.parametrize("count", [1, 3])
def test_a_diff_is_of_some_tenants_and_leaves_the_project_as_it_was(rig: Rig, count: int) -> None:
    rig.configure(repositories(3))
    folder = rig.project.folder
    before = [file.read_text() for file in (folder / "tenants").iterdir()]

    with tenants_changed(folder, count):
        status = subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True)
        branches = {yaml.safe_load(file.read_text())["source"]["branch"] for file in (folder / "tenants").iterdir()}

    assert status.stdout == "".join(f" M tenants/team-00{number}.yaml\n" for number in range(1, count + 1))
    assert len(branches - {"main"}) == count
    assert [file.read_text() for file in (folder / "tenants").iterdir()] == before
    assert not (folder / ".git").exists()
