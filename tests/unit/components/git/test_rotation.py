"""A deploy key stays registered until its source has been fetched with the one that replaces it."""

import logging
from base64 import b64encode
from typing import Any

import pulumi
import pytest
from message_codes import codes
from recorded_program import run
from sample_plan import register_source
from sample_sources import REPOSITORY, SSH_URL, own_source, private_key, public_key, stack, with_deploy_key

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, RegisteredKey, deploy_key_name
from flux_tenancy.components.git.rotation import previous_keys, rotations
from flux_tenancy.components.git.source import git_access
from flux_tenancy.components.keys.ssh_keys import read_private_key
from flux_tenancy.components.sync.status import Progress
from flux_tenancy.components.vocabulary.names import ObjectMeta

FETCHED = [{"type": "ArtifactInStorage", "status": "True", "observedGeneration": 1}]
ELSEWHERE = {"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}
REFUSED = [{"type": "FetchFailed", "status": "True", "observedGeneration": 1, "message": "unable to authenticate"}]


def name_of(source, which):
    return deploy_key_name(source, read_private_key(private_key(which)))


def fingerprint(which):
    return read_private_key(private_key(which)).fingerprint


def registered(source, which):
    title = f"flux-tenancy staging/{source} {fingerprint(which)}"
    return RegisteredKey(name_of(source, which), "apps", title, public_key(private_key(which)))


def at_github(*keys):
    """The state after deploy keys have been registered, each given as (source, which key)."""
    found = {key.name: key for key in (registered(*each) for each in keys)}
    outputs = {
        (DEPLOY_KEY_TYPE, name): {"key": key.public, "title": key.title, "repository": key.repository, "readOnly": True}
        for name, key in found.items()
    }
    return State(outputs | {("kubernetes:core/v1:Secret", "x-y"): {}})


def cluster(which="first", conditions=FETCHED, url=SSH_URL):
    """A cluster whose sources all refer to this key."""
    encoded = b64encode(f"{public_key(private_key(which))}\n".encode()).decode()
    objects = {
        "GitRepository": {
            "metadata": {"generation": 1},
            "spec": {"url": url, "secretRef": {"name": "its-key"}},
            "status": {"conditions": conditions},
        },
        "Secret": {"data": {"identity.pub": encoded}},
    }
    return lambda manifest: objects[manifest["kind"]]


def never(manifest):
    raise AssertionError("nothing has to be looked at")


def silent(manifest):
    raise ClusterUnavailable("context", "the cluster does not answer")


def keeps(tenants, before, find):
    found = previous_keys(stack(tenants).git_sources, at_github(*before), find)
    return {(source, key.name) for source, keys in found.items() for key in keys}


@pytest.mark.parametrize(
    ("tenants", "before"),
    [
        # The first key, and an update with the same key.
        ({"dev-team": with_deploy_key("first")}, []),
        ({"dev-team": with_deploy_key("first")}, [("dev-team", "first")]),
        # Removing the key revokes it.
        ({"dev-team": {"https": {"password": "pa55word"}}}, [("dev-team", "first")]),
        ({"dev-team": ELSEWHERE}, [("dev-team", "first")]),
        # Removing a tenant removes all of its keys.
        ({}, [("dev-team", "first"), ("dev-team", "second")]),
        ({"dev": with_deploy_key("second")}, [("dev-team", "first")]),
    ],
)  # fmt: skip
def test_without_a_rotation_no_key_stays_and_the_cluster_is_not_read(tenants, before):
    assert keeps(tenants, before, never) == set()


@pytest.mark.parametrize(
    "find",
    [
        pytest.param(cluster("first"), id="before the update that brings the new key"),
        pytest.param(cluster("second", REFUSED), id="refused"),
        pytest.param(cluster("second", []), id="not looked at"),
        pytest.param(lambda manifest: None, id="no such source"),
        pytest.param(silent, id="the cluster does not answer"),
    ],
)
def test_a_previous_key_stays_until_its_source_has_been_fetched_with_the_new_one(find):
    tenants = {"dev-team": with_deploy_key("second"), "ops-team": with_deploy_key("third")}
    before = [("dev-team", "first"), ("ops-team", "third")]

    assert keeps(tenants, before, find) == {("dev-team", name_of("dev-team", "first"))}


@pytest.mark.parametrize(
    ("find", "expected"),
    [
        pytest.param(cluster("third", REFUSED), {"first", "second"}, id="nothing is proven of any"),
        pytest.param(cluster("second", REFUSED), {"first", "second"}, id="the second was never proven"),
        pytest.param(cluster("second"), {"second"}, id="the second is proven, and the first needed no more"),
        pytest.param(cluster("third"), set(), id="the last one is proven"),
    ],
)
def test_of_several_rotations_the_last_proven_key_stays(find, expected):
    before = [("dev-team", each) for each in ("first", "second", "third")]

    kept = {name for _, name in keeps({"dev-team": with_deploy_key("third")}, before, find)}

    assert kept == {name_of("dev-team", each) for each in expected}


def test_going_back_to_the_previous_key_is_also_a_rotation():
    tenants, before = {"dev-team": with_deploy_key("first")}, [("dev-team", "first"), ("dev-team", "second")]

    assert keeps(tenants, before, cluster("second", REFUSED)) == {("dev-team", name_of("dev-team", "second"))}
    assert keeps(tenants, before, cluster("first")) == set()


def test_a_source_that_moves_to_another_repository_keeps_no_previous_key():
    def moved(repository):
        return with_deploy_key("second", github={"repository": repository}, url=f"ssh://git@github.com/{repository}")

    assert keeps({"dev-team": moved("acme/other")}, [("dev-team", "first")], never) == set()
    assert keeps({"dev-team": moved("umbrella/apps")}, [("dev-team", "first")], cluster("first")) == set()


@pytest.mark.parametrize("url", [f"{SSH_URL}.git", "ssh://git@ssh.github.com:443/Acme/apps"])
def test_another_url_of_the_same_repository_is_not_a_move(url):
    tenants = {"dev-team": with_deploy_key("second", url=url)}

    assert keeps(tenants, [("dev-team", "first")], cluster("first")) == {("dev-team", name_of("dev-team", "first"))}


def test_the_platforms_own_key_is_rotated_like_a_tenants():
    asked = []

    def find(manifest):
        asked.append((manifest["kind"], manifest["metadata"]["namespace"], manifest["metadata"]["name"]))
        return cluster("first")(manifest)

    config = stack(platform=with_deploy_key("second"))

    assert previous_keys(config.git_sources, at_github(("flux-system", "first")), find) == {
        "flux-system": [registered("flux-system", "first")]
    }
    assert asked == [("GitRepository", "flux-system", "flux-system"), ("Secret", "flux-system", "its-key")]


def test_a_previous_key_is_declared_exactly_as_in_the_previous_update():
    """The engine sees no change: name, parent, provider and inputs are the same."""

    def declared(which, previous):
        def program():
            parent = pulumi.ComponentResource("test:index:Tenant", "tenant")
            config = stack({"dev-team": with_deploy_key(which)})
            access = git_access(config.git_sources, previous)
            register_source(ObjectMeta("dev-team", "apps", {}), own_source(config), access, parent, [])

        return {name: each for name, each in run(program).items() if name.startswith("RepositoryDeployKey")}

    before = declared("first", {})
    after = declared("second", {"dev-team": [registered("dev-team", "first")]})

    assert len(after) == 2
    assert before.items() <= after.items()


def reported(find, caplog, *, preview=False, kept=("first",), platform=False):
    """The outputs and the log of a rotation to the second key."""
    name = "flux-system" if platform else "dev-team"
    source = with_deploy_key("second")
    config = stack(platform=source) if platform else stack({"dev-team": source})
    previous = {name: [registered(name, which) for which in kept]}
    found: list[Any] = []

    def program():
        progress = pulumi.Output.from_input({name: Progress()})
        return pulumi.Output.all(**rotations(config.git_sources, previous, progress, find)).apply(found.append)

    with caplog.at_level(logging.INFO):
        run(program, preview=preview)
    return found[0] if found else None, [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize(
    ("conditions", "stays", "logged"),
    [
        (REFUSED, "Flux has not fetched with the new key: unable to authenticate", ("WARNING", "FT-GIT-031")),
        (FETCHED, "Flux has fetched with the new key; the next update removes this one", ("INFO", "FT-GIT-030")),
    ],
    ids=["pending", "finished"],
)
def test_a_rotation_is_one_line_with_the_sync_and_a_warning_only_while_it_is_pending(caplog, conditions, stays, logged):
    outputs, log = reported(cluster("second", conditions), caplog)

    assert outputs == {"dev-team": [{"fingerprint": fingerprint("first"), "stays": stays}]}
    [(level, line)] = log
    assert (level, *codes([line])) == logged
    assert line.startswith("tenant dev-team: ")
    assert all(each in line for each in (fingerprint("second"), fingerprint("first"), REPOSITORY))


def test_several_previous_keys_are_in_one_line(caplog):
    outputs, [(_, line)] = reported(cluster("second", []), caplog, kept=("first", "third"))

    assert [each["fingerprint"] for each in outputs["dev-team"]] == [fingerprint("first"), fingerprint("third")]
    assert f"{fingerprint('first')}, {fingerprint('third')}, stays" in line


def test_the_platforms_rotation_is_logged_as_the_platforms_own(caplog):
    _, [(_, line)] = reported(cluster("second", []), caplog, platform=True)

    assert line.startswith("the platform's own sync: ")


def test_a_preview_leaves_the_output_unknown_and_logs_nothing(caplog):
    """An update plan holds the update to the outputs of its preview."""
    assert reported(never, caplog, preview=True) == (None, [])


def test_without_a_rotation_nothing_is_read():
    assert rotations(stack().git_sources, {}, pulumi.Output.from_input({}), never) == {}
