"""Before the first resource: GitHub is asked only about what is new there and credentials; refusals are explained."""

import json
import re
from typing import Any

import pytest
from loopback import closed_port, serving
from sample_sources import app_key, private_key, stack, with_deploy_key

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, deploy_key_name
from flux_tenancy.components.git.github_preflight import (
    identity_problems,
    lost_repositories,
    repository_problems,
    unregistered,
)
from flux_tenancy.components.keys.ssh_keys import read_private_key

NOTHING = State({})
APPS = "/api/v3/repos/acme/apps"
TENANT = "tenants.dev-team.source.github"
TOKENS = ("gh-t0ken", "env-t0ken", "installation-t0ken")
APP = {"appId": 17, "installationId": 4711, "privateKey": app_key()}
INSTALLATION = "/api/v3/app/installations/4711/access_tokens"
INSTALLATION_TOKEN = b'{"token": "installation-t0ken", "expires_at": "2036-01-01T00:00:00Z", "permissions": {}}'


@pytest.fixture(autouse=True)
def _no_token_of_ones_own(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def repository(name="acme/apps", *, archived=False, **permissions):
    """A repository as GitHub describes it."""
    found = {"full_name": name, "archived": archived, "permissions": {"admin": True, "pull": True} | permissions}
    return json.dumps(found).encode()


def message(text):
    return json.dumps({"message": text}).encode()


def github(server, **owners):
    return {"baseUrl": f"{server}/", "owners": owners or {"acme": {"token": "gh-t0ken"}}}


def found_problems(config, recorded=NOTHING):
    new = unregistered(config.git_sources, recorded)
    found = repository_problems(config.git_sources, new, "Pulumi.staging.yaml")
    assert not any(token in str(problem) for token in TOKENS for problem in found)
    return found


def problems(config, recorded=NOTHING):
    """The path and the code of each problem."""
    return [(problem.path, problem.code) for problem in found_problems(config, recorded)]


def refused(status, body=b"{}"):
    """The problems if GitHub gives this answer about the repository of the tenant dev-team, and is asked once.

    The operator decides whether to retry; nothing has been applied yet.
    """
    paths: list[Any] = []
    with serving({APPS: body}, status, asked=paths) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server)))
    assert paths == [APPS]
    return found


def recorded(*resources):
    """The state with deploy keys, as (source, which key), and webhooks, by source."""
    keys = [deploy_key_name(each[0], read_private_key(private_key(each[1]))) for each in resources if len(each) == 2]
    webhooks = [each[0] for each in resources if len(each) == 1]
    return State({(DEPLOY_KEY_TYPE, name): {} for name in keys} | {(WEBHOOK_TYPE, name): {} for name in webhooks})


def asked(config_of, state=NOTHING):
    """The repositories in the requests to GitHub."""
    paths: list[Any] = []
    with serving({}, 404, asked=paths) as server:
        problems(config_of(server), state)
    return sorted(path.removeprefix("/api/v3/repos/") for path in paths)


def test_a_repository_with_admin_rights_is_not_an_error():
    assert refused(200, repository()) == []


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        pytest.param(200, repository(admin=False), "FT-GIT-008", id="may only be read"),
        pytest.param(200, repository(archived=True), "FT-GIT-016", id="is archived"),
        pytest.param(401, message("Bad credentials"), "FT-GIT-004", id="bad credentials"),
        pytest.param(401, message("Requires authentication"), "FT-GIT-004", id="no credentials"),
        pytest.param(404, message("Not Found"), "FT-GIT-005", id="does not exist or is hidden"),
        pytest.param(404, message("The target couldn't be found."), "FT-GIT-005", id="its target does not exist"),
    ],
)
def test_a_repository_that_cannot_be_managed_is_an_error(status, body, code):
    assert refused(status, body) == [(TENANT, code)]


@pytest.mark.parametrize("status", [403, 429])
def test_any_other_refusal_is_an_error_with_the_words_of_github(status):
    with serving({APPS: message("API rate limit exceeded\x1b for user ID 17.")}, status) as server:
        config = stack({"dev-team": with_deploy_key()}, github=github(server))
        [problem] = found_problems(config)

    assert problem.code == "FT-GIT-007"
    assert f"{status} for acme/apps: API rate limit exceeded for user ID 17." in problem.message


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("body", [b"", b"<html>Unicorn!</html>", b'{"message": "Server Error"}'])
def test_an_outage_is_an_error(status, body):
    assert refused(status, body) == [(TENANT, "FT-GIT-007")]


def test_a_server_that_cannot_be_reached_is_an_error():
    server = f"http://127.0.0.1:{closed_port()}"

    assert problems(stack({"dev-team": with_deploy_key()}, github=github(server))) == [(TENANT, "FT-GIT-002")]


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"{", b"{}", b"[]", b'{"permissions": null}', b""])
def test_a_server_that_is_not_github_is_an_error(body):
    assert refused(200, body) == [(TENANT, "FT-GIT-003")]


@pytest.mark.parametrize("environment", [None, ""])
def test_without_any_token_no_request_is_sent(monkeypatch, environment):
    if environment is not None:
        monkeypatch.setenv("GITHUB_TOKEN", environment)
    paths: list[Any] = []

    with serving({}, asked=paths) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={})))

    assert found == [(TENANT, "FT-GIT-001")]
    assert paths == []


def test_an_app_uses_a_token_of_its_installation_and_its_user_permissions_are_ignored():
    """GitHub reports what a user may do in a repository; for an App, every permission is `false`."""
    answers = {INSTALLATION: INSTALLATION_TOKEN, APPS: repository(admin=False)}
    paths: list[Any] = []

    with serving(answers, asked=paths) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={"app": APP})))

    assert found == []
    assert paths == [INSTALLATION, APPS]


@pytest.mark.parametrize(
    ("answers", "status", "code"),
    [({}, 401, "FT-GIT-004"), ({}, 503, "FT-GIT-007"), ({INSTALLATION: b"<html>"}, 200, "FT-GIT-003")],
    ids=["refused", "outage", "not GitHub"],
)
def test_an_app_that_gets_no_token_is_an_error(answers, status, code):
    with serving(answers, status) as server:
        found = problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme={"app": APP})))

    assert found == [(TENANT, code)]


def test_each_repository_is_a_separate_error():
    answers = {APPS: repository(), "/api/v3/repos/acme/tools": repository("acme/tools", admin=False)}
    tenants = {
        "dev-team": with_deploy_key(),
        "ops-team": with_deploy_key("second", github={"repository": "acme/tools"}),
        "qa-team": with_deploy_key("third", github={"repository": "acme/gone"}),
    }

    with serving(answers, 404, statuses=dict.fromkeys(answers, 200)) as server:
        found = problems(stack(tenants, github=github(server)))

    assert sorted(found) == [
        ("tenants.ops-team.source.github", "FT-GIT-008"),
        ("tenants.qa-team.source.github", "FT-GIT-005"),
    ]


@pytest.mark.parametrize(
    ("identity", "setting", "token"),
    [
        ({}, "GITHUB_TOKEN", "env-t0ken"),
        ({"token": "gh-t0ken"}, "github.owners.acme.token", "gh-t0ken"),
        ({"app": APP}, "github.owners.acme.app", "installation-t0ken"),
    ],
)
@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_names_the_setting_whose_credentials_were_refused(monkeypatch, identity, setting, token, status):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")
    used: list[str] = []

    answers, statuses = {INSTALLATION: INSTALLATION_TOKEN}, {INSTALLATION: 201}
    with serving(answers, status, statuses=statuses, authorizations=used) as server:
        [problem] = found_problems(stack({"dev-team": with_deploy_key()}, github=github(server, acme=identity)))

    named = re.findall(r"GITHUB_TOKEN|github\.owners[.\w]+", problem.message)
    assert set(named) == {setting}, problem.message
    assert used[-1].split()[-1] == token


def test_an_error_about_the_platforms_own_repository_names_its_key():
    with serving({}, 404) as server:
        found = problems(stack(platform=with_deploy_key(), github=github(server)))

    assert found == [("flux.sync.source.github", "FT-GIT-005")]


def test_the_case_of_an_owner_makes_no_difference():
    source = with_deploy_key(github={"repository": "ACME/apps"})

    with serving({"/api/v3/repos/ACME/apps": repository()}) as server:
        assert problems(stack({"dev-team": source}, github=github(server))) == []


@pytest.mark.parametrize(
    ("source", "state", "new"),
    [
        (with_deploy_key(), [], True),
        (with_deploy_key(), [("dev-team", "first")], False),
        # Another key counts as new.
        (with_deploy_key("second"), [("dev-team", "first")], True),
        (with_deploy_key(), [("ops-team", "first")], True),
        (with_deploy_key(webhook={}), [("dev-team", "first")], True),
        (with_deploy_key(webhook={}), [("dev-team",)], True),
        (with_deploy_key(webhook={}), [("dev-team", "first"), ("dev-team",)], False),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [], True),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [("dev-team",)], False),
        ({"github": {"repository": "acme/apps"}, "webhook": {}}, [("ops-team",)], True),
        # The source registers nothing.
        ({"webhook": {"type": "gitlab"}}, [], False),
        ({"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}, [], False),
        ({}, [], False),
    ],
)
def test_only_keys_and_webhooks_that_are_not_registered_yet_need_a_request(source, state, new):
    def config(server):
        return stack({"dev-team": source}, github=github(server))

    assert asked(config, recorded(*state)) == (["acme/apps"] if new else [])


def test_the_public_api_has_no_path_prefix(monkeypatch):
    bases = []

    def client(**arguments):
        bases.append(arguments)
        raise ZeroDivisionError

    monkeypatch.setattr("flux_tenancy.components.git.github_access.Github", client)

    for base in ("https://api.github.com", "https://api.github.com/", "https://github.example.com/"):
        with pytest.raises(ZeroDivisionError):
            problems(stack({"dev-team": with_deploy_key()}, github=github("") | {"baseUrl": base}))

    assert [each["base_url"] for each in bases] == [
        "https://api.github.com",
        "https://api.github.com",
        "https://github.example.com/api/v3",
    ]


def test_a_source_that_moves_to_a_repository_that_does_not_exist_is_an_error():
    key = (DEPLOY_KEY_TYPE, deploy_key_name("dev-team", read_private_key(private_key("first"))))
    found = {}
    for former in ("apps", "former"):
        with serving({}, 404) as server:
            config = stack({"dev-team": with_deploy_key("first")}, github=github(server))
            found[former] = problems(config, State({key: {"repository": former}}))

    assert found == {"apps": [], "former": [(TENANT, "FT-GIT-005")]}


@pytest.mark.parametrize(
    ("before", "status", "lost"),
    [
        ("Acme/Apps.git", 404, ["dev-team"]),
        ("acme/apps", 200, ["dev-team"]),
        ("acme/former", 404, []),
        ("acme/apps", 401, []),
        ("acme/apps", 403, []),
    ],
)
def test_only_a_repository_that_is_gone_or_archived_and_was_there_before_is_no_error(before, status, lost):
    """Such as that of a rotation: all other tenants are applied. A typing error and refused credentials are errors."""
    kind = "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository"
    state = State({(kind, "dev-team-apps/dev-team"): {"spec": {"url": f"ssh://git@github.com/{before}"}}})
    with serving({APPS: repository(archived=True)}, status) as server:
        config = stack({"dev-team": with_deploy_key()}, github=github(server))
        new = unregistered(config.git_sources, state)
        found = repository_problems(config.git_sources, new, "Pulumi.staging.yaml")

    assert new and found
    warnings = lost_repositories(config.git_sources, new, found, state)
    assert list(warnings) == lost
    assert {each.code for each in warnings.values()} <= {"FT-GIT-014"}


# If nothing new has to be registered, only the credentials are checked.
LIMIT = "/api/v3/rate_limit"
REGISTERED = recorded(("dev-team", "first"))


def refused_owners(server, *, state=REGISTERED, **owners):
    """The path and the code of each problem with the credentials of owners."""
    config = stack({"dev-team": with_deploy_key()}, github={"baseUrl": f"{server}/", "owners": owners})
    found = identity_problems(config.git_sources, unregistered(config.git_sources, state), "Pulumi.staging.yaml")
    assert not any("t0ken" in str(problem) for problem in found)
    return [(problem.path, problem.code) for problem in found]


@pytest.mark.parametrize("owners", [{}, {"acme": {}}, {"other": {"token": "other-t0ken"}}])
@pytest.mark.parametrize("token", [None, ""])
def test_missing_credentials_are_an_error_even_if_nothing_is_to_be_registered(monkeypatch, owners, token):
    if token is not None:
        monkeypatch.setenv("GITHUB_TOKEN", token)
    paths: list[Any] = []

    with serving({}, asked=paths) as server:
        found = refused_owners(server, **owners)

    assert found == [("github.owners.acme", "FT-GIT-001")]
    assert paths == []


def test_owners_of_repositories_that_the_preflight_checks_are_not_checked_again():
    assert refused_owners(f"http://127.0.0.1:{closed_port()}", state=State({})) == []


def test_a_stack_without_github_sends_no_request():
    sources = stack({"dev-team": {}}).git_sources

    assert identity_problems(sources, unregistered(sources, REGISTERED), "Pulumi.staging.yaml") == []


def test_credentials_that_github_accepts_cost_one_request_that_its_limit_does_not_count(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")
    paths: list[Any] = []

    with serving({LIMIT: json.dumps({"resources": {}, "rate": {}}).encode()}, asked=paths) as server:
        assert refused_owners(server) == []

    assert paths == [LIMIT]


@pytest.mark.parametrize(
    ("owners", "statuses"),
    [
        ({}, {}),
        ({"acme": {"token": "gh-t0ken"}}, {}),
        ({"acme": {"app": APP}}, {}),
        ({"acme": {"app": APP}}, {INSTALLATION: 201}),
    ],
    ids=["environment", "token", "app", "token of the app"],
)
def test_rejected_credentials_are_an_error_that_names_them(monkeypatch, owners, statuses):
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")

    with serving({INSTALLATION: INSTALLATION_TOKEN}, 401, statuses=statuses) as server:
        assert refused_owners(server, **owners) == [("github.owners.acme", "FT-GIT-004")]


@pytest.mark.parametrize("status", [403, 404, 429, 500, 503])
def test_other_answers_do_not_stop_the_update(status):
    """A GitHub Enterprise Server without rate limits answers 404."""
    with serving({}, status) as server:
        assert refused_owners(server, acme={"token": "gh-t0ken"}) == []


def test_an_outage_does_not_stop_the_update():
    assert refused_owners(f"http://127.0.0.1:{closed_port()}", acme={"token": "gh-t0ken"}) == []
    with serving({LIMIT: b"<html>Unicorn!</html>"}) as server:
        assert refused_owners(server, acme={"token": "gh-t0ken"}) == []
