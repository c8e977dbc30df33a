"""A push counts as applied once its commit is."""

from __future__ import annotations

from typing import Any

from bench import neighbours


def test_a_commit_is_ready_only_after_it_is_applied() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "lastAppliedRevision": "main@sha1:abc"}

    def is_applied(commit: str, **changed: Any) -> bool:
        return neighbours.is_applied({"metadata": {}, "spec": {}, "status": {**status, **changed}}, commit)

    assert is_applied("abc")
    assert not is_applied("def")
    assert not is_applied("abc", conditions=[])
