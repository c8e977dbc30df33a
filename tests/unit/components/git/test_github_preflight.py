"""Before the first resource: GitHub is asked only for what is new there, and says in words what is in the way."""

import json
from typing import Any

import pytest
from loopback import closed_port, serving
from sample_sources import app_key, private_key, stack, with_deploy_key

from components.engine.state import State
from components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, deploy_key_name
from components.git.github_preflight import repository_problems
from components.keys.ssh_keys import read_private_key

NOTHING = State({})
APPS = "/api/v3/repos/acme/apps"
TENANT = "Pulumi.staging.yaml: tenants.dev-team.source.github: "
TOKENS = ("gh-t0ken", "env-t0ken", "installation-t0ken")
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
INSTALLATION = "/api/v3/app/installations/4711/access_tokens"


@pytest.fixture(autouse=True)
def _no_token_of_ones_own(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def repository(name="acme/apps", **permissions):
    """A repository as GitHub describes it."""
    return json.dumps({"full_name": name, "permissions": {"admin": True, "pull": True} | permissions}).encode()


def message(text):
    return json.dumps({"message": text}).encode()


def github(server, **owners):
    return {"baseUrl": f"{server}/", "owners": owners or {"acme": {"token": "gh-t0ken"}}}


def problems(config, recorded=NOTHING):
    found = [str(problem) for problem in repository_problems(config.git_sources, recorded, "Pulumi.staging.yaml")]
    assert not any(token in problem for token in TOKENS for problem in found)
    return found


def refused(status, body=b"{}", headers=None):
    """What is said when GitHub answers so for the repository of the tenant dev-team; and where it was asked."""
    with serving({APPS: body}, status, headers) as server:
        return problems(stack({"dev-team": with_deploy_key()}, github=github(server))), server


def recorded(*resources):
    """The state with deploy keys, as (source, which key), and webhooks, by source."""
    keys = [deploy_key_name(each[0], read_private_key(private_key(each[1]))) for each in resources if len(each) == 2]
    webhooks = [each[0] for each in resources if len(each) == 1]
    return State({(DEPLOY_KEY_TYPE, name): {} for name in keys} | {(WEBHOOK_TYPE, name): {} for name in webhooks})


def asked(config_of, state=NOTHING):
    """The repositories that GitHub is asked for."""
    paths: list[Any] = []
    with serving({}, 404, asked=paths) as server:
        problems(config_of(server), state)
    return sorted(path.removeprefix("/api/v3/repos/") for path in paths)


def test_a_repository_that_may_be_administered_is_no_problem():
    assert refused(200, repository())[0] == []


def test_a_repository_that_may_only_be_read_is_told():
    assert refused(200, repository(admin=False))[0] == [
        f"{TENANT}acme/apps may be read but not administered with github.owners.acme; give it that right"
    ]


def test_credentials_that_github_does_not_accept_are_told():
    for text in ("Bad credentials", "Requires authentication"):
        assert refused(401, message(text))[0] == [
            f"{TENANT}GitHub does not accept the credentials of github.owners.acme; renew them"
        ]


def test_a_repository_that_is_not_there_or_not_for_these_eyes_is_told():
    for text in ("Not Found", "The target couldn't be found."):
        assert refused(404, message(text))[0] == [
            f"{TENANT}acme/apps does not exist, or the credentials of github.owners.acme may not see it; correct either"
        ]


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("text", ["API rate limit exceeded for user ID 17.", "Slow down."])
def test_a_rate_limit_is_told_with_the_time_at_which_it_ends(status, text):
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000"}

    assert refused(status, message(text), headers)[0] == [
        f"{TENANT}GitHub's rate limit is used up until 08:00 UTC; run it again then, or use an App, which has its own"
    ]


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_rate_limit_says_only_to_come_back_later(status):
    headers = {"retry-after": "60", "x-ratelimit-remaining": "4000"}

    assert refused(status, message("You have exceeded a secondary rate limit."), headers)[0] == [
        f"{TENANT}GitHub's rate limit is used up; run it again then, or use an App, which has its own"
    ]


@pytest.mark.parametrize("headers", [{}, {"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1800000000"}])
def test_a_refusal_for_another_reason_is_not_taken_for_a_rate_limit(headers):
    assert refused(403, message("Resource protected by organization SAML enforcement."), headers)[0] == [
        f"{TENANT}GitHub answers 403 for acme/apps; see its status page, and run it again"
    ]


def test_the_last_request_of_an_hour_is_not_taken_for_a_rate_limit_when_it_fails_for_another_reason():
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000"}

    assert "does not exist" in refused(404, message("Not Found"), headers)[0][0]
    assert "GitHub answers 500" in refused(500, message("Oops"), headers)[0][0]


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("body", [b"", b"<html>Unicorn!</html>", b'{"message": "Server Error"}'])
def test_an_outage_is_told_with_what_github_answers(status, body):
    assert refused(status, body)[0] == [
        f"{TENANT}GitHub answers {status} for acme/apps; see its status page, and run it again"
    ]


def test_an_outage_is_not_waited_out():
    """Trying again is the operator's to decide; nothing is applied yet."""
    paths: list[Any] = []

    with serving({}, 503, asked=paths) as server:
        problems(stack({"dev-team": with_deploy_key()}, github=github(server)))

    assert paths == [APPS]


def test_a_server_that_does_not_answer_is_named():
    server = f"http://127.0.0.1:{closed_port()}"

    assert problems(stack({"dev-team": with_deploy_key()}, github=github(server))) == [
        f"{TENANT}GitHub cannot be reached at {server}/; check github.baseUrl and the network"
    ]


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"{", b"{}", b"[]", b'{"permissions": null}', b""])
def test_a_server_that_is_not_github_is_recognised(body):
    found, server = refused(200, body)

    assert found == [f"{TENANT}{server}/ does not answer as GitHub does; check github.baseUrl"]


def test_the_token_is_the_one_of_the_configuration_or_else_of_the_environment(monkeypatch):
    seen = []

    def client(_, found):
        seen.append(found.token)
        raise ZeroDivisionError

    def auth(identity):
        monkeypatch.setattr("components.git.github_access._client", client)
        with pytest.raises(ZeroDivisionError):
            problems(stack({"dev-team": with_deploy_key()}, github=github("http://127.0.0.1:1", acme=identity)))
        return seen[-1]

    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")

    assert auth({"token": "gh-t0ken"}) == "gh-t0ken"
    assert auth({}) == "env-t0ken"


@pytest.mark.parametrize("environment", [None, ""])
def test_without_any_token_nobody_is_asked_and_the_remedy_is_told(monkeypatch, environment):
    if environment is not None:
        monkeypatch.setenv("GITHUB_TOKEN", environment)
    paths: list[Any] = []

    with serving({}, asked=paths) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={})))

    assert found == [
        f"{TENANT}github.owners.acme has neither a token nor an App, and the environment has no GITHUB_TOKEN; export "
        "that, or give it one: `pulumi config set --secret --path github.owners.acme.token`"
    ]
    assert paths == []


def test_an_app_asks_with_a_token_of_its_installation_and_its_rights_are_not_those_of_a_user():
    """GitHub tells what a user may do in a repository; for an App it says `false` throughout."""
    token = {"token": "installation-t0ken", "expires_at": "2036-01-01T00:00:00Z", "permissions": {}}
    answers = {INSTALLATION: json.dumps(token).encode(), APPS: repository(admin=False)}
    paths: list[Any] = []

    with serving(answers, asked=paths) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={"app": APP})))

    assert found == []
    assert paths == [INSTALLATION, APPS]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "GitHub does not accept the credentials of github.owners.acme; renew them"),
        (503, "GitHub answers 503 for acme/apps; see its status page, and run it again"),
    ],
)
def test_an_app_that_gets_no_token_is_told(status, reason):
    with serving({}, status) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={"app": APP})))

    assert found == [TENANT + reason]


def test_an_app_whose_server_gives_no_token_but_an_html_page_is_told():
    with serving({INSTALLATION: b"<html>"}) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={"app": APP})))

    assert found == [f"{TENANT}{server}/ does not answer as GitHub does; check github.baseUrl"]


def test_each_repository_is_told_of_on_its_own():
    answers = {APPS: repository(), "/api/v3/repos/acme/tools": repository("acme/tools", admin=False)}
    tenants = {
        "dev-team": with_deploy_key(),
        "ops-team": with_deploy_key("second", github={"repository": "acme/tools"}),
        "qa-team": with_deploy_key("third", github={"repository": "acme/gone"}),
    }

    with serving(answers, 404, statuses=dict.fromkeys(answers, 200)) as server:
        found = problems(stack(tenants, github=github(server)))

    assert sorted(problem.split(": ")[1] for problem in found) == [
        "tenants.ops-team.source.github",
        "tenants.qa-team.source.github",
    ]


def test_the_platforms_own_repository_is_told_of_where_it_is_configured():
    with serving({}, 404) as server:
        [found] = problems(stack(platform=with_deploy_key(), github=github(server)))

    assert found.startswith("Pulumi.staging.yaml: flux.sync.source.github: acme/apps does not exist")


def test_capital_letters_of_an_owner_make_no_difference():
    source = with_deploy_key(github={"repository": "ACME/apps"})

    with serving({"/api/v3/repos/ACME/apps": repository()}) as server:
        assert problems(stack({"dev-team": source}, github=github(server))) == []


@pytest.mark.parametrize(
    ("source", "state", "new"),
    [
        (with_deploy_key(), [], True),
        (with_deploy_key(), [("dev-team", "first")], False),
        # Another key is as new as the first one.
        (with_deploy_key("second"), [("dev-team", "first")], True),
        (with_deploy_key(), [("ops-team", "first")], True),
        (with_deploy_key(webhook={}), [("dev-team", "first")], True),
        (with_deploy_key(webhook={}), [("dev-team",)], True),
        (with_deploy_key(webhook={}), [("dev-team", "first"), ("dev-team",)], False),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [], True),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [("dev-team",)], False),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [("ops-team",)], True),
        # Nothing is registered anywhere.
        ({"webhook": {"type": "gitlab"}}, [], False),
        ({"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}, [], False),
        ({}, [], False),
    ],
)
def test_github_is_asked_only_for_what_is_not_registered_yet(source, state, new):
    def config(server):
        return stack({"dev-team": source}, github=github(server))

    assert asked(config, recorded(*state)) == (["acme/apps"] if new else [])


def test_an_outage_holds_up_nothing_that_is_registered_already():
    tenants = {"dev-team": with_deploy_key(webhook={}), "ops-team": with_deploy_key("second")}
    server = f"http://127.0.0.1:{closed_port()}"

    state = recorded(("dev-team", "first"), ("dev-team",), ("ops-team", "second"))
    assert problems(stack(tenants, github=github(server)), state) == []


def test_the_public_api_has_no_path_of_its_own(monkeypatch):
    bases = []

    def client(**arguments):
        bases.append(arguments)
        raise ZeroDivisionError

    monkeypatch.setattr("components.git.github_access.Github", client)

    for base in ("https://api.github.com", "https://api.github.com/", "https://github.example.com/"):
        with pytest.raises(ZeroDivisionError):
            problems(stack({"dev-team": with_deploy_key()}, github=github("") | {"baseUrl": base}))

    assert [each["base_url"] for each in bases] == [
        "https://api.github.com",
        "https://api.github.com",
        "https://github.example.com/api/v3",
    ]
