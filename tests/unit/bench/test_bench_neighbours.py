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


def test_a_release_is_ready_only_with_the_texts_of_the_commit() -> None:
    release = {"metadata": {}, "spec": {"values": {"text": "new"}}, "status": {"conditions": []}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}

    assert neighbours.has_text(release | {"status": ready}, "new")
    assert not neighbours.has_text(release | {"status": ready}, "newer")
    assert not neighbours.has_text(release, "new")
