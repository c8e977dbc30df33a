"""Credentials for GitHub where nothing new is to be registered, and owners that nobody needs any more."""

import json
from typing import Any

import pytest
from loopback import closed_port, serving
from sample_sources import app_key, private_key, stack, with_deploy_key

from components.engine.state import State
from components.git.github import DEPLOY_KEY_TYPE, deploy_key_name
from components.git.github_identity import identity_problems, unneeded_owners
from components.keys.ssh_keys import read_private_key

FILE = "Pulumi.staging.yaml"
ACME = f"{FILE}: github.owners.acme: "
LIMIT = "/api/v3/rate_limit"
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
INSTALLATION = "/api/v3/app/installations/4711/access_tokens"
REGISTERED = State(
    {(DEPLOY_KEY_TYPE, deploy_key_name("dev-team", read_private_key(private_key("first")))): {}},
)
RENEW = "`pulumi config set --secret --path github.owners.acme."


@pytest.fixture(autouse=True)
def _no_token_of_ones_own(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def problems(server, *, state=REGISTERED, **owners):
    config = stack({"dev-team": with_deploy_key()}, github={"baseUrl": f"{server}/", "owners": owners})
    return [str(problem) for problem in identity_problems(config.git_sources, state, FILE)]


@pytest.mark.parametrize("owners", [{}, {"acme": {}}, {"other": {"token": "other-t0ken"}}])
@pytest.mark.parametrize("token", [None, ""])
def test_an_update_without_credentials_is_refused_though_nothing_is_to_be_registered(monkeypatch, owners, token):
    if token is not None:
        monkeypatch.setenv("GITHUB_TOKEN", token)
    asked: list[Any] = []

    with serving({}, asked=asked) as server:
        found = problems(server, **owners)

    assert found == [
        f"{ACME}has neither a token nor an App, and the environment has no GITHUB_TOKEN; export that, or give it one: "
        f"{RENEW}token`"
    ]
    assert asked == []


def test_what_is_to_be_registered_anew_is_not_asked_about_twice():
    assert problems(f"http://127.0.0.1:{closed_port()}", state=State({})) == []


def test_a_stack_without_github_asks_nobody():
    assert identity_problems(stack({"dev-team": {}}).git_sources, REGISTERED, FILE) == []


def test_credentials_that_github_accepts_cost_one_request_that_its_limit_does_not_count(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")
    asked: list[Any] = []

    with serving({LIMIT: json.dumps({"resources": {}, "rate": {}}).encode()}, asked=asked) as server:
        assert problems(server) == []

    assert asked == [LIMIT]


@pytest.mark.parametrize(
    ("owners", "whose"),
    [
        ({}, "the environment's GITHUB_TOKEN, which this owner has for want of a token or an App; renew it"),
        ({"acme": {"token": "gh-t0ken"}}, f"its token; renew it: {RENEW}token`"),
        ({"acme": {"app": APP}}, f"its App; renew the key: {RENEW}app.privateKey`"),
    ],
    ids=["environment", "token", "app"],
)
def test_credentials_that_github_does_not_accept_are_told_with_whose_they_are(monkeypatch, owners, whose):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")

    with serving({}, 401) as server:
        found = problems(server, **owners)

    assert found == [f"{ACME}GitHub does not accept {whose}"]
    assert "t0ken" not in found[0]


def test_a_token_of_an_app_that_is_refused_later_is_told_too():
    token = {"token": "installation-t0ken", "expires_at": "2036-01-01T00:00:00Z", "permissions": {}}

    with serving({INSTALLATION: json.dumps(token).encode()}, 401, statuses={INSTALLATION: 201}) as server:
        [found] = problems(server, acme={"app": APP})

    assert "does not accept its App" in found


@pytest.mark.parametrize("status", [403, 404, 429, 500, 503])
def test_an_answer_that_says_nothing_of_the_credentials_holds_nothing_up(status):
    """A GitHub Enterprise Server without rate limits answers 404."""
    with serving({}, status) as server:
        assert problems(server, acme={"token": "gh-t0ken"}) == []


def test_an_outage_holds_nothing_up():
    assert problems(f"http://127.0.0.1:{closed_port()}", acme={"token": "gh-t0ken"}) == []
    with serving({LIMIT: b"<html>Unicorn!</html>"}) as server:
        assert problems(server, acme={"token": "gh-t0ken"}) == []


def test_owners_that_no_source_needs_are_named_with_the_command_that_takes_them_out():
    owners = {"ACME": {}, "gone-team": {"token": "gh-t0ken"}, "old-team": {}}
    config = stack({"dev-team": with_deploy_key()}, github={"owners": owners})

    assert list(unneeded_owners(config.git_sources, FILE)) == [
        f"{FILE}: github.owners.gone-team: no source of this stack is in a repository of gone-team; take it out with "
        "`pulumi config rm --path github.owners.gone-team`, and revoke its credentials if nothing else uses them",
        f"{FILE}: github.owners.old-team: no source of this stack is in a repository of old-team; take it out with "
        "`pulumi config rm --path github.owners.old-team`",
    ]
