"""Credentials for GitHub if nothing new has to be registered."""

import json
from typing import Any

import pytest
from loopback import closed_port, serving
from sample_sources import app_key, private_key, stack, with_deploy_key

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, deploy_key_name
from flux_tenancy.components.git.github_preflight import identity_problems, unregistered
from flux_tenancy.components.keys.ssh_keys import read_private_key

FILE = "Pulumi.staging.yaml"
LIMIT = "/api/v3/rate_limit"
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
INSTALLATION = "/api/v3/app/installations/4711/access_tokens"
REGISTERED = State(
    {(DEPLOY_KEY_TYPE, deploy_key_name("dev-team", read_private_key(private_key("first")))): {}},
)


@pytest.fixture(autouse=True)
def _no_token_of_ones_own(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def problems(server, *, state=REGISTERED, **owners):
    config = stack({"dev-team": with_deploy_key()}, github={"baseUrl": f"{server}/", "owners": owners})
    found = identity_problems(config.git_sources, unregistered(config.git_sources, state), FILE)
    assert not any("t0ken" in str(problem) for problem in found)
    return [(problem.path, problem.code) for problem in found]


@pytest.mark.parametrize("owners", [{}, {"acme": {}}, {"other": {"token": "other-t0ken"}}])
@pytest.mark.parametrize("token", [None, ""])
def test_missing_credentials_are_an_error_even_if_nothing_is_to_be_registered(monkeypatch, owners, token):
    if token is not None:
        monkeypatch.setenv("GITHUB_TOKEN", token)
    asked: list[Any] = []

    with serving({}, asked=asked) as server:
        found = problems(server, **owners)

    assert found == [("github.owners.acme", "FT-GIT-001")]
    assert asked == []


def test_owners_of_repositories_that_the_preflight_checks_are_not_checked_again():
    assert problems(f"http://127.0.0.1:{closed_port()}", state=State({})) == []


def test_a_stack_without_github_sends_no_request():
    sources = stack({"dev-team": {}}).git_sources

    assert identity_problems(sources, unregistered(sources, REGISTERED), FILE) == []


def test_credentials_that_github_accepts_cost_one_request_that_its_limit_does_not_count(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")
    asked: list[Any] = []

    with serving({LIMIT: json.dumps({"resources": {}, "rate": {}}).encode()}, asked=asked) as server:
        assert problems(server) == []

    assert asked == [LIMIT]


@pytest.mark.parametrize(
    ("owners", "code"),
    [({}, "FT-GIT-004"), ({"acme": {"token": "gh-t0ken"}}, "FT-GIT-004"), ({"acme": {"app": APP}}, "FT-GIT-004")],
    ids=["environment", "token", "app"],
)
def test_rejected_credentials_are_an_error_that_names_them(monkeypatch, owners, code):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")

    with serving({}, 401) as server:
        found = problems(server, **owners)

    assert found == [("github.owners.acme", code)]


def test_a_rejected_token_of_an_app_is_an_error_of_the_app():
    token = {"token": "installation-t0ken", "expires_at": "2036-01-01T00:00:00Z", "permissions": {}}

    with serving({INSTALLATION: json.dumps(token).encode()}, 401, statuses={INSTALLATION: 201}) as server:
        assert problems(server, acme={"app": APP}) == [("github.owners.acme", "FT-GIT-004")]


@pytest.mark.parametrize("status", [403, 404, 429, 500, 503])
def test_other_answers_do_not_stop_the_update(status):
    """A GitHub Enterprise Server without rate limits answers 404."""
    with serving({}, status) as server:
        assert problems(server, acme={"token": "gh-t0ken"}) == []


def test_an_outage_does_not_stop_the_update():
    assert problems(f"http://127.0.0.1:{closed_port()}", acme={"token": "gh-t0ken"}) == []
    with serving({LIMIT: b"<html>Unicorn!</html>"}) as server:
        assert problems(server, acme={"token": "gh-t0ken"}) == []
