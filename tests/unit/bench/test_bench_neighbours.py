"""A push counts as applied once its commit is."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dev.bench import neighbours
from dev.bench.rig import Rig
from dev.bench.tenant_client import TenantClient
from dev.lab.cluster import Cluster
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.settings import Settings
from flux_tenancy.operations.admission.answers import Response
from tests.support.lab import eventually
from tests.support.largest_pod import largest_pod


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


def test_what_is_asked_is_asked_again_until_the_end_of_the_block_and_each_answer_counted() -> None:
    answers = iter([Response(201, message=""), Response(422, message="too large")])
    asked: list[str] = []

    def ask(method: str, path: str, _: Any) -> Response:
        asked.append(f"{method} {path}")
        try:
            return next(answers)
        except StopIteration:
            raise LabError("not answered", "see the log") from None

    client = cast(TenantClient, SimpleNamespace(ask=ask))
    repository = neighbours._Repository("busy", cast(GitHost, None), client)

    with repository.asking([largest_pod("busy")]) as answered:
        eventually(lambda: answered["none"] > 1)

    assert (answered["201"], answered["422 too large"]) == (1, 1)
    assert set(asked) == {"POST /api/v1/namespaces/busy/pods?dryRun=All"}
    ended = len(asked)
    time.sleep(0.05)
    assert len(asked) == ended
