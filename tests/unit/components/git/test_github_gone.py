"""What an update deletes or changes at GitHub and is not there any more is forgotten, so that it stops nobody."""

import json
from pathlib import Path

import pytest
from loopback import closed_port, serving
from message_codes import codes
from recorded_program import run
from sample_sources import app_key, private_key, public_key, stack, with_deploy_key

from flux_tenancy.components.engine import pulumi_command
from flux_tenancy.components.engine.pulumi_command import Process
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github import (
    ALL,
    DEPLOY_KEY_TYPE,
    FORGOTTEN,
    PROVIDER_TYPE,
    WEBHOOK_TYPE,
    Gone,
    RegisteredKey,
    deploy_key_name,
)
from flux_tenancy.components.git.github_preflight import gone_registrations
from flux_tenancy.components.git.source import git_access
from flux_tenancy.components.keys.ssh_keys import read_private_key

HOOK = "https://flux.example.com/hook/of-its-token"
FIRST = deploy_key_name("dev-team", read_private_key(private_key("first")))
KEY, WEBHOOK = (DEPLOY_KEY_TYPE, FIRST), (WEBHOOK_TYPE, "dev-team")
REPOSITORY = "/api/v3/repos/acme/apps"
OWN_KEY, OWN_WEBHOOK = f"{REPOSITORY}/keys/17", f"{REPOSITORY}/hooks/18"
THEIR_KEY = "/api/v3/repos/initech/apps/keys/17"
REGISTERED = {"dev-team": with_deploy_key(webhook={})}


@pytest.fixture(autouse=True)
def _no_token_of_ones_own(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def urn(registration):
    return "urn:pulumi:staging::flux-tenancy::flux-tenancy:index:Tenant${}::{}".format(*registration)


def recorded(*more, key="first", repository="apps", hook=HOOK, providers=({"owner": "acme", "token": "old-t0ken"},)):
    """The state after a deploy key and a webhook have been registered, with more registrations of the same."""
    public = public_key(private_key(key))
    outputs = {
        KEY: {"id": "apps:17", "repository": repository, "title": "flux-tenancy staging/dev-team", "key": public},
        WEBHOOK: {"id": "18", "repository": repository, "configuration": {"url": hook}},
    }
    outputs |= dict.fromkeys(more, outputs[KEY])
    resources = outputs | {(PROVIDER_TYPE, f"github-{each['owner']}"): each for each in providers}
    return State(resources | {("kubernetes:core/v1:Namespace", "x"): {}}, {each: urn(each) for each in outputs})


def looked_up(tenants, state, previous=None, status=404, statuses=None, owners=None, answers=None, **served):
    """What is gone by what GitHub answers, and each path that it was asked."""
    asked: list[str] = []
    bodies = {OWN_KEY: b'{"id": 17}', OWN_WEBHOOK: b'{"id": 18}', THEIR_KEY: b'{"id": 17}'} | (answers or {})
    with serving(bodies, status, asked=asked, statuses=statuses, **served) as server:
        config = stack(tenants, github={"baseUrl": f"{server}/", "owners": owners or {}})
        found: list[Gone] = []
        # Messages go to the engine.
        run(lambda: found.append(gone_registrations(config.git_sources, previous or {}, state)))
    return found[0], sorted(asked)


def test_what_a_removed_tenant_has_no_more_at_github_is_gone(caplog):
    gone, asked = looked_up({}, recorded())

    assert gone.urns == {KEY: urn(KEY), WEBHOOK: urn(WEBHOOK)}
    assert set(asked) == {REPOSITORY, OWN_WEBHOOK, OWN_KEY}
    assert codes(caplog.messages) == ["FT-GIT-015"] * 2
    assert HOOK not in caplog.text and "t0ken" not in caplog.text


def test_what_is_there_is_deleted():
    gone, asked = looked_up({}, recorded(), statuses={OWN_KEY: 200})

    assert set(gone.urns) == {WEBHOOK}
    assert set(asked) == {REPOSITORY, OWN_WEBHOOK, OWN_KEY}


def test_what_an_archived_repository_has_stays_there_and_is_named(caplog):
    """The provider would report its deletion, and fail to change it."""
    found = json.dumps({"full_name": "acme/apps", "permissions": {"admin": True}, "archived": True}).encode()

    gone, _ = looked_up({}, recorded(), status=200, answers={REPOSITORY: found})

    assert gone.urns == {KEY: urn(KEY), WEBHOOK: urn(WEBHOOK)}
    assert codes(caplog.messages) == ["FT-GIT-015"] * 2
    assert caplog.text.count("acme/apps is archived") == 2


@pytest.mark.parametrize(("administers", "number"), [(False, 0), (True, 2)])
def test_what_credentials_without_admin_rights_do_not_find_is_not_gone(administers, number):
    """GitHub tells them of no key, even one that was leaked and is to be deleted."""
    found = {"id": 1, "full_name": "acme/apps", "permissions": {"admin": administers, "pull": True}}

    gone, _ = looked_up({}, recorded(), answers={REPOSITORY: json.dumps(found).encode()}, statuses={REPOSITORY: 200})

    assert len(gone.urns) == number


@pytest.mark.parametrize("status", [200, 401, 403, 410, 422, 429, 451, 500, 503])
def test_only_404_says_that_something_is_gone(status, caplog):
    gone, asked = looked_up({}, recorded(), status=status)

    assert not gone.urns
    assert asked
    assert codes(caplog.messages) == []


def test_while_github_is_down_nothing_is_gone():
    config = stack({}, github={"baseUrl": f"http://127.0.0.1:{closed_port()}/"})

    assert not gone_registrations(config.git_sources, {}, recorded()).urns


def test_an_update_that_excludes_github_registers_and_forgets_nothing_there(monkeypatch):
    command = Process(["pulumi", "up", "--exclude", ALL], Path("/work"))
    monkeypatch.setattr(pulumi_command, "ancestors", lambda: iter([command]))
    gone = Gone({KEY: urn(KEY)}, owners=frozenset({"acme"}))

    assert run(lambda: git_access(stack(REGISTERED).git_sources, gone=gone) and None) == {}


def test_what_a_refresh_takes_out_of_the_state_is_not_forgotten(monkeypatch):
    """It could only be created again."""
    monkeypatch.setenv("PULUMI_OPTION_REFRESH", "true")

    gone, asked = looked_up({}, recorded())

    assert not gone.urns
    assert asked == []


def test_nothing_is_asked_about_what_stays_as_it_is():
    previous = RegisteredKey("dev-team-abc", "apps", "flux-tenancy staging/dev-team", public_key(private_key("second")))
    state = recorded((DEPLOY_KEY_TYPE, previous.name), (DEPLOY_KEY_TYPE, f"{FORGOTTEN}shop-abc"))

    gone, asked = looked_up(REGISTERED, state, {"dev-team": [previous]}, owners={"acme": {"token": "gh-t0ken"}})

    assert not gone.urns
    assert asked == []


@pytest.mark.parametrize(
    ("state", "gone"),
    [
        (recorded(hook="https://former.example.com/hook/of-its-token"), {WEBHOOK}),
        (recorded(repository="former"), {KEY, WEBHOOK}),
        (recorded((DEPLOY_KEY_TYPE, "dev-team-abc")), {(DEPLOY_KEY_TYPE, "dev-team-abc")}),
    ],
    ids=["another webhookUrl", "another repository", "a key that has been replaced"],
)
def test_what_changes_is_looked_up(state, gone):
    found, _ = looked_up(REGISTERED, state, owners={"acme": {"token": "gh-t0ken"}})

    assert set(found.urns) == gone


def test_what_one_of_several_owners_has_is_not_gone():
    providers = ({"owner": "acme", "token": "t"}, {"owner": "initech", "token": "t"})

    gone, _ = looked_up({}, recorded(providers=providers), statuses={THEIR_KEY: 200})

    assert set(gone.urns) == {WEBHOOK}


@pytest.mark.parametrize(
    ("owners", "tenants", "used"),
    [
        ({}, {}, "old-t0ken"),
        ({"Acme": {"token": "new-t0ken"}}, {}, "new-t0ken"),
        ({"acme": {"token": "new-t0ken"}}, {}, "new-t0ken"),
        ({}, {"ops-team": with_deploy_key("third")}, "env-t0ken"),
        ({}, {"ops-team": with_deploy_key("third", github={"repository": "ACME/apps"})}, "env-t0ken"),
    ],
    ids=["not listed any more", "listed in other case", "listed", "from the environment", "so in other case"],
)
def test_github_is_asked_with_the_credentials_that_the_provider_deletes_with(monkeypatch, owners, tenants, used):
    """Others may not see a repository that is there."""
    monkeypatch.setenv("GITHUB_TOKEN", "env-t0ken")
    authorizations: list[str] = []

    looked_up(tenants, recorded(), owners=owners, authorizations=authorizations)

    assert {each.split()[-1] for each in authorizations} == {used}


def test_an_app_of_the_last_update_is_asked_for_a_token():
    app = {"id": "17", "installationId": "4711", "pemFile": app_key()}
    state = recorded(providers=({"owner": "acme", "appAuth": json.dumps(app)},))

    gone, asked = looked_up({}, state)

    assert set(asked) == {"/api/v3/app/installations/4711/access_tokens"}
    assert set(gone.urns) == {KEY, WEBHOOK}


@pytest.mark.parametrize(
    ("tenants", "provider"),
    [
        ({}, "github github-acme"),
        ({"ops-team": with_deploy_key(github={"repository": "other/x"})}, "github github-other"),
    ],
)
def test_what_is_gone_is_forgotten_and_its_tenant_does_not_wait_for_it(tenants, provider):
    owners = {"other": {"token": "gh-t0ken"}}
    gone, _ = looked_up(tenants, recorded(), owners=owners)

    found = run(lambda: git_access(stack(tenants, github={"owners": owners}).git_sources, gone=gone) and None)

    for name, registration, inputs in (
        (f"RepositoryDeployKey {FORGOTTEN}{FIRST}", KEY, {"key", "readOnly", "repository", "title"}),
        (f"RepositoryWebhook {FORGOTTEN}dev-team", WEBHOOK, {"active", "configuration", "events", "repository"}),
    ):
        kept = found.pop(name)
        assert kept.aliases == {urn(registration)}
        assert (kept.parent, kept.provider, kept.properties) == ("GitHub github", provider, {})
        assert (kept.ignored, kept.retained, kept.after) == (inputs, True, set())
    assert set(found) == {"GitHub github", provider}


def test_what_is_gone_and_still_declared_is_left_out_until_the_next_update():
    former = recorded(hook="https://former.example.com/hook/of-its-token")
    gone, _ = looked_up(REGISTERED, former, owners={"acme": {"token": "gh-t0ken"}})
    found = []

    run(lambda: found.append(git_access(stack(REGISTERED).git_sources, gone=gone)))

    assert found[0].lost == {WEBHOOK}
