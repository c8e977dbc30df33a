"""Every step of the contest is measured, and `pulumi destroy` deletes whatever the first update has created."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dev.bench import kubectl
from dev.bench.kubectl import BASELINES, compete, results
from dev.bench.measure import Sample
from dev.bench.rig import Rig
from dev.lab.errors import LabError

PLATFORM = ("urn:pulumi:bench::p::pulumi:pulumi:Stack::p-bench", "urn:pulumi:bench::p::kubernetes:v1:Namespace::flux")


@dataclass
class FakeRig:
    """A stack of which each update creates the resources of its tenants, one of them outside of their component."""

    folder: Path
    stubborn: str = ""
    tenants: list[str] = field(default_factory=list)
    state: list[str] = field(default_factory=lambda: list(PLATFORM))

    @property
    def project(self) -> Any:
        return SimpleNamespace(folder=self.folder)

    def configure(self, tenants: dict[str, str]) -> None:
        self.tenants = list(tenants)

    def urns(self) -> set[str]:
        return set(self.state)

    def pulumi(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        if command == "up":
            kinds = ("flux-tenancy:index:Tenant", "kubernetes:rbac:RoleBinding")
            self.state = [
                *PLATFORM,
                *(f"urn:pulumi:bench::p::{kind}::{name}" for name in self.tenants for kind in kinds),
            ]
        if command == "destroy":
            kept = {each.removeprefix("--exclude=") for each in options if each.startswith("--exclude=")}
            self.state = [each for each in self.state if each in kept or each.endswith(self.stubborn or "::none")]
        return self._done()

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._done()

    review = kubectl

    def _done(self) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess((), 0)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch) -> FakeRig:
    monkeypatch.setattr(kubectl, "tenant_objects", lambda _: [{"kind": "Namespace"}])
    monkeypatch.setattr(kubectl, "tenants_changed", lambda *_: nullcontext())
    monkeypatch.setattr(kubectl, "measure", lambda run: Sample(run().returncode + 1.0, 1.0))
    return FakeRig(tmp_path)


def test_each_step_is_measured_and_has_a_baseline(rig: FakeRig) -> None:
    measured = compete(cast(Rig, rig), 1, 2, lambda _: None)

    assert set(measured.samples) == {*BASELINES, *BASELINES.values()}
    assert [(row["step"], row["runs"]) for row in results([measured]).rows] == [(step, 2) for step in BASELINES]


def test_a_round_leaves_what_it_found(rig: FakeRig) -> None:
    compete(cast(Rig, rig), 3, 1, lambda _: None)

    assert rig.state == list(PLATFORM)


def test_a_resource_that_stays_is_an_error(rig: FakeRig) -> None:
    rig.stubborn = "RoleBinding::team-001"

    with pytest.raises(LabError, match=r"left other resources.*RoleBinding::team-001"):
        compete(cast(Rig, rig), 1, 1, lambda _: None)
