"""What a killed update has left at GitHub is found, distinguished from what others own, and removed."""

import json
from typing import Any

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes
from sample_sources import private_key, public_key, stack, with_deploy_key

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.config import GitHubRepository
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, deploy_key_name
from flux_tenancy.components.git.github_preflight import unregistered
from flux_tenancy.components.keys.ssh_keys import read_private_key
from flux_tenancy.components.plan import FIELD_MANAGER, OWNERSHIP
from flux_tenancy.components.recovery.github_leftovers import (
    Leftover,
    clear_github,
    github_leftovers,
    receivers_by_hand,
)

APPS = "/api/v3/repos/acme/apps"
HOOK = "https://flux.example.com/hook/"


def key(number, which, title="flux-tenancy staging/dev-team ", **more):
    """A deploy key as GitHub describes it; a title that ends with a space gets the key's fingerprint."""
    if title.endswith(" "):
        title += read_private_key(private_key(which)).fingerprint
    return {"id": number, "key": public_key(private_key(which)), "title": title, "last_used": None} | more


def hook(number, url):
    return {"id": number, "config": {"url": url, "content_type": "json"}}


def recorded(*keys, hook=None):
    """The state, with the tenant's deploy keys and the URL of its webhook."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for which in keys:
        own = read_private_key(private_key(which))
        title = f"flux-tenancy staging/dev-team {own.fingerprint}"
        found[DEPLOY_KEY_TYPE, deploy_key_name("dev-team", own)] = {"title": title}
    if hook is not None:
        found[WEBHOOK_TYPE, "dev-team"] = {"configuration": {"url": hook}}
    return State(found)


def leftovers_of(sources, state, by_hand=()):
    return github_leftovers(sources, unregistered(sources, state), state, "staging", "Pulumi.staging.yaml", by_hand)


def found(keys=(), hooks=(), state=None, asked=None, by_hand=(), **source):
    """The leftovers and the errors if the host has these keys and webhooks."""
    answers = {f"{APPS}/keys": json.dumps([*keys]).encode(), f"{APPS}/hooks": json.dumps([*hooks]).encode()}
    with serving(answers, asked=asked) as server:
        github = {"baseUrl": f"{server}/", "owners": {"acme": {"token": "gh-t0ken"}}}
        config = stack({"dev-team": with_deploy_key("first", webhook={}, **source)}, github=github)
        leftovers, problems = leftovers_of(config.git_sources, state or recorded(), by_hand)
    return [each.path for each in leftovers if not each.used], problems, leftovers


def test_a_key_of_the_stack_that_is_not_in_the_state_is_a_leftover():
    """The current key, or one that was replaced before the next update."""
    assert found([key(1, "first"), key(2, "before")])[:2] == (["keys/1", "keys/2"], [])


def test_keys_in_the_state_and_keys_of_others_stay():
    others = [key(2, "second", title="flux-tenancy staging-2/dev-team x"), key(3, "third", title="a laptop")]

    assert found([key(1, "before"), *others], state=recorded("before"))[:2] == ([], [])


def test_a_used_key_is_not_from_a_killed_update():
    used = {"last_used": "2026-01-01T00:00:00Z"}

    paths, _, [own, other] = found([key(1, "first", **used), key(2, "before", **used)])

    assert paths == ["keys/1"]
    assert (own.used, other.used) == (False, True)


def test_a_tenants_key_that_is_registered_under_another_title_is_an_error():
    paths, [problem], _ = found([key(1, "first", title="by\x1bhand")])

    assert paths == []
    assert (problem.path, problem.code) == ("tenants.dev-team.source.github", "FT-GIT-025")
    assert "acme/apps" in problem.message and "'by hand'" in problem.message


def test_webhooks_of_this_cluster_are_leftovers_unless_they_are_in_the_state():
    hooks = [hook(1, f"{HOOK}a"), hook(2, f"{HOOK}b"), hook(3, "https://flux.example.com.evil/hook/c"), hook(4, "x")]

    assert found(hooks=hooks, state=recorded(hook=f"{HOOK}b"))[0] == ["hooks/1"]


def test_a_webhook_that_is_registered_by_hand_stays():
    hooks = [hook(1, f"{HOOK}a"), hook(2, f"{HOOK}b")]

    assert found(hooks=hooks, by_hand={"/hook/a"})[0] == ["hooks/2"]


def test_webhooks_are_registered_by_hand_for_receivers_of_others_and_of_sources_without_a_repository():
    managers = [{"manager": f"{FIELD_MANAGER}1a2b3c4d", "operation": "Apply"}]
    own = {"annotations": OWNERSHIP, "managedFields": managers}
    listed = [
        {"metadata": own | {"namespace": f"{name}-apps", "name": name}, "status": {"webhookPath": f"/hook/of-{name}"}}
        for name in ("dev-team", "web-team", "team-of-a-killed-update")
    ]
    listed += [
        {"metadata": {"namespace": "apps", "name": "other"}, "status": {"webhookPath": "/hook/other"}},
        {"metadata": {"namespace": "apps", "name": "new"}},
    ]
    elsewhere = {"url": "https://git.example.com/apps", "webhook": {"type": "gitlab"}}
    sources = stack({"dev-team": with_deploy_key(webhook={}), "web-team": elsewhere}).git_sources

    with serving({"/apis/notification.toolkit.fluxcd.io/v1/receivers": json.dumps({"items": listed}).encode()}) as url:
        by_hand = receivers_by_hand(client.ApiClient(client.Configuration(host=url)), sources)

    assert by_hand == {"/hook/of-web-team", "/hook/other"}


@pytest.mark.parametrize("configuration", [{}, {"url": None}, "secret", None])
def test_with_an_unreadable_state_nothing_is_a_leftover(configuration):
    unreadable = {(DEPLOY_KEY_TYPE, "dev-team-1"): {}, (WEBHOOK_TYPE, "other"): {"configuration": configuration}}

    assert found([key(1, "first")], [hook(1, f"{HOOK}a")], State(unreadable))[:2] == ([], [])


def test_a_stack_with_everything_registered_sends_no_request():
    paths: list[Any] = []

    assert found([key(1, "x")], state=recorded("first", hook="a"), asked=paths)[:2] == ([], [])
    assert paths == []


def test_keys_that_cannot_be_listed_are_an_error():
    with serving({}, 403) as server:
        github = {"baseUrl": f"{server}/", "owners": {"acme": {"token": "gh-t0ken"}}}
        config = stack({"dev-team": with_deploy_key()}, github=github)
        [problem] = leftovers_of(config.git_sources, recorded())[1]

    assert (problem.path, problem.code) == ("tenants.dev-team.source.github", "FT-GIT-023")
    assert "403" in problem.message


@pytest.fixture
def logged(monkeypatch):
    lines: list[str] = []
    for level in ("info", "warn"):
        monkeypatch.setattr(f"pulumi.log.{level}", lambda text, level=level: lines.append(f"{level}: {text}"))
    return lines


def cleared(monkeypatch, *leftovers, dry_run=False, status=204):
    """The requests to GitHub while leftovers are removed."""
    paths: list[str] = []
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: dry_run)
    with serving({}, status, asked=paths) as server:
        github = {"baseUrl": f"{server}/", "owners": {"acme": {"token": "gh-t0ken"}}}
        clear_github(stack({"dev-team": with_deploy_key()}, github=github).github, leftovers)
    return paths


REPOSITORY = GitHubRepository(repository="acme/apps")
LEFT = Leftover(REPOSITORY, "keys/1", "the deploy key 'x'")
USED = Leftover(REPOSITORY, "keys/1", "the deploy key 'x'", used=True)
DELETED = f"DELETE {APPS}/keys/1"


@pytest.mark.parametrize(
    ("leftover", "preview", "status", "asked", "code", "level"),
    [
        (LEFT, False, 204, [DELETED], "FT-GIT-021", "info"),
        # Somebody has removed it.
        (LEFT, False, 404, [DELETED], "FT-GIT-021", "info"),
        (LEFT, True, 204, [], "FT-GIT-021", "info"),
        (USED, False, 204, [], "FT-GIT-020", "warn"),
    ],
    ids=["removed", "gone", "preview", "in use"],
)
def test_a_leftover_is_removed_by_an_update_unless_it_is_in_use(
    monkeypatch, logged, leftover, preview, status, asked, code, level
):
    assert cleared(monkeypatch, leftover, dry_run=preview, status=status) == asked
    assert codes(logged) == [code]
    assert logged[0].startswith(f"{level}: the deploy key 'x' of acme/apps ")


def test_a_leftover_that_cannot_be_removed_ends_the_update(monkeypatch, logged):
    with pytest.raises(pulumi.RunError, match="the deploy key 'x' of acme/apps.*503") as refused:
        cleared(monkeypatch, LEFT, status=503)
    assert codes([refused.value]) == ["FT-GIT-023"]
    assert logged == []
