"""The deploy keys and webhooks of a stack at GitHub: what differs there, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, PROVIDER_TYPE, WEBHOOK_TYPE
from flux_tenancy.operations.drift import search
from flux_tenancy.operations.drift.managed_fields import MISSING
from flux_tenancy.operations.drift.recorded_state import RecordedState, recorded_state
from flux_tenancy.operations.drift.search import UNREAD, host_differences
from flux_tenancy.project.errors import OperationError
from tests.support.fake_github import REPOSITORY, TOKEN, FakeGitHub, github

OWNER, _, NAME = REPOSITORY.partition("/")
AT = f"/api/v3/repos/{REPOSITORY}"
URN = "urn:pulumi:staging::flux-tenancy"
PROVIDER = f"{URN}::{PROVIDER_TYPE}::github-{OWNER}"
URL = "https://flux.example.com/hook/of-a-secret"
KEY = {"id": 1, "read_only": True}
HOOK: dict[str, Any] = {"id": 2, "active": True, "events": ["push"], "config": {"url": URL, "insecure_ssl": "0"}}


@pytest.fixture
def host() -> Iterator[FakeGitHub]:
    with github() as fake:
        fake.content = {f"{AT}/keys/1": KEY, f"{AT}/hooks/2": HOOK}
        yield fake


def state(host: FakeGitHub, token: str = TOKEN) -> RecordedState:
    """A state with one of each."""
    provider = {"owner": OWNER, "baseUrl": f"{host.url}/", "token": token}
    key = {"id": f"{NAME}:1", "repository": NAME, "readOnly": True}
    hook = {"id": "2", "repository": NAME, "configuration": {"url": URL}}
    registered = ((DEPLOY_KEY_TYPE, "shop-abc", key), (WEBHOOK_TYPE, "shop", hook))
    return recorded_state(
        [
            {"type": PROVIDER_TYPE, "urn": PROVIDER, "outputs": provider},
            *(
                {"type": type_, "urn": f"{URN}::{type_}::{name}", "provider": f"{PROVIDER}::1", "outputs": outputs}
                for type_, name, outputs in registered
            ),
        ]
    )


def found(host: FakeGitHub, monkeypatch, **options: str) -> tuple[set[tuple[str, str, str, str]], list[str]]:
    recorded = state(host, **options)
    monkeypatch.setattr(search, "read_recorded", lambda *_: recorded)
    differences, unread = host_differences(recorded, "staging", Path())
    assert "of-a-secret" not in str(differences), "nobody else knows the address of a Receiver"
    return {(each.what.value, each.kind, each.field, str(each.cluster)) for each in differences}, unread


def test_what_is_as_the_last_update_has_registered_it_is_no_drift(host, monkeypatch):
    assert found(host, monkeypatch) == (set(), [])


@pytest.mark.parametrize(
    ("path", "now", "difference"),
    [
        ("/keys/1", KEY | {"read_only": False}, ("changed", "RepositoryDeployKey", "readOnly", "False")),
        ("/hooks/2", HOOK | {"active": False}, ("changed", "RepositoryWebhook", "active", "False")),
        ("/hooks/2", HOOK | {"events": ["*"]}, ("changed", "RepositoryWebhook", "events", "['*']")),
        (
            "/hooks/2",
            HOOK | {"config": {"url": "https://example.com/evil"}},
            ("changed", "RepositoryWebhook", "configuration.url", "https://example.com/evil"),
        ),
        ("/hooks/2", HOOK | {"config": None}, ("changed", "RepositoryWebhook", "configuration.url", str(MISSING))),
        (
            "/hooks/2",
            HOOK | {"config": {"url": URL, "insecure_ssl": "1"}},
            ("changed", "RepositoryWebhook", "configuration.insecureSsl", "True"),
        ),
    ],
)
def test_what_somebody_has_changed_is_drift(host, monkeypatch, path, now, difference):
    host.content[f"{AT}{path}"] = now

    assert found(host, monkeypatch) == ({difference}, [])


def test_what_somebody_has_deleted_is_missing(host, monkeypatch):
    host.content = {}

    differences, unread = found(host, monkeypatch)

    assert {each[:2] for each in differences} == {("missing", "RepositoryDeployKey"), ("missing", "RepositoryWebhook")}
    assert unread == []


def test_credentials_that_github_refuses_are_told_and_nothing_counts_as_missing(host, monkeypatch):
    assert found(host, monkeypatch, token="another") == (set(), [UNREAD])


def test_a_user_who_may_not_decrypt_the_state_is_told(host, monkeypatch):
    def sealed(*_: object) -> RecordedState:
        raise OperationError(Message("FT-OPS-011", "no passphrase", "set it"))

    monkeypatch.setattr(search, "read_recorded", sealed)

    assert host_differences(state(host), "staging", Path()) == ([], [UNREAD])


def test_a_stack_that_registers_nothing_is_not_decrypted(monkeypatch):
    monkeypatch.setattr(search, "read_recorded", lambda *_: pytest.fail("it is"))

    assert host_differences(recorded_state([]), "staging", Path()) == ([], [])
