"""A push counts as applied once its commit is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dev.bench import neighbours
from dev.bench.rig import Rig
from dev.lab.cluster import Cluster
from dev.lab.errors import LabError
from dev.lab.settings import Settings


def test_a_commit_is_ready_only_after_it_is_applied() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "lastAppliedRevision": "main@sha1:abc"}

    def is_applied(commit: str, **changed: Any) -> bool:
        return neighbours.is_applied({"metadata": {}, "spec": {}, "status": {**status, **changed}}, commit)

    assert is_applied("abc")
    assert not is_applied("def")
    assert not is_applied("abc", conditions=[])


def test_a_release_is_ready_only_with_the_texts_of_the_commit() -> None:
    release = {"metadata": {}, "spec": {"values": {"text": "new"}}, "status": {"conditions": []}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}

    assert neighbours.has_text(release | {"status": ready}, "new")
    assert not neighbours.has_text(release | {"status": ready}, "newer")
    assert not neighbours.has_text(release, "new")


def test_without_limits_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = SimpleNamespace(settings=Settings(tmp_path, tmp_path, tmp_path, 20800))
    rig = cast(Rig, SimpleNamespace(lab=lab, cluster=SimpleNamespace(name="bench")))
    neighbours.require_limits(rig)
    monkeypatch.setattr(Cluster, "warning", "Cluster bench does not enforce memory and CPU limits: read-only")

    with pytest.raises(LabError, match="exceed their memory limit. Cluster bench does not enforce .*: read-only"):
        neighbours.require_limits(rig)
