"""How the API server would store what is intended, and what it says if it does not tell."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kubernetes.client.exceptions import ApiException

from flux_tenancy.isolation.inventory import stored
from flux_tenancy.isolation.inventory.stored import NotComparable, Stored

INTENDED = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "system:one", "namespace": "apps"},
    "roleRef": {"name": "view"},
}
FOUND = {"metadata": {"resourceVersion": "1"}}
ANSWER = INTENDED | {"roleRef": {"name": "view", "kind": "ClusterRole"}}


class Api:
    """Answers each request with the next status and body."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        monkeypatch.setattr(stored, "ask", self.ask)
        monkeypatch.setattr(stored, "get", lambda *_: {"metadata": {"resourceVersion": "2"}})
        self.stored = Stored(cast(Any, None))

    def ask(self, _: object, method: str, path: str, body: dict[str, Any], **query: str) -> object:
        assert query == {"dryRun": "All"}
        self.asked.append((method, body["metadata"].get("resourceVersion") or body["metadata"]["name"]))
        status, content = self.answers.pop(0)
        if status >= 400:
            error = ApiException(status=status)
            error.body = json.dumps(content)
            raise error
        return SimpleNamespace(data=json.dumps(content))


def test_each_object_is_asked_for_once(monkeypatch):
    api = Api(monkeypatch, (200, ANSWER))

    assert [api.stored.form(INTENDED, FOUND) for _ in range(2)] == [ANSWER, ANSWER]


def test_an_object_that_has_changed_meanwhile_is_asked_for_again(monkeypatch):
    api = Api(monkeypatch, (409, {}), (200, ANSWER))

    assert api.stored.form(INTENDED, FOUND) == ANSWER
    assert api.asked == [("PUT", "1"), ("PUT", "2")]


def test_an_object_that_nobody_may_change_is_asked_for_under_another_name(monkeypatch):
    api = Api(monkeypatch, (403, {}), (201, ANSWER))

    assert api.stored.form(INTENDED, FOUND) == ANSWER
    assert api.asked == [("PUT", "1"), ("POST", "isolation-suite")]


def test_a_field_that_cannot_be_changed_is_compared_as_it_is(monkeypatch):
    assert Api(monkeypatch, (422, {})).stored.form(INTENDED, FOUND) is None


@pytest.mark.parametrize("answers", [[403, 403], [500, 500], [409, 409, 403]])
def test_no_answer_is_never_taken_for_no_difference(monkeypatch, answers):
    api = Api(monkeypatch, *((status, {"message": "no\x1b[2J"}) for status in answers))

    with pytest.raises(NotComparable, match=r"^no \[2J$"):
        api.stored.form(INTENDED, FOUND)
