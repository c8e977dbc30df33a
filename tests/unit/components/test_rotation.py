"""A deploy key is removed only when the source has been fetched with the one that comes after it."""

from typing import Any

import pulumi
import pytest
from recorded_program import run
from sample_sources import private_key, stack, with_deploy_key

from components.git.ssh_keys import read_private_key
from components.github import DEPLOY_KEY_TYPE, deploy_key_name
from components.recorded import Recorded
from components.rotation import proven, rotating
from components.sync_status import NOT_RECONCILED, Progress, SyncStatus

WELL = SyncStatus("True", "")
REFUSED = SyncStatus("False", "no supported authentication methods")
BYO = {"url": "ssh://git@git.example.com/apps", "deployKey": private_key("first")}


def at_github(*keys):
    """The state after deploy keys have been registered, each given as (source, which key)."""
    names = [deploy_key_name(source, read_private_key(private_key(which))) for source, which in keys]
    return Recorded({(DEPLOY_KEY_TYPE, name): {} for name in names} | {("kubernetes:core/v1:Secret", "x-y"): {}})


@pytest.mark.parametrize(
    ("tenants", "before", "expected"),
    [
        # The first key, and the same again.
        ({"dev-team": with_deploy_key("first")}, [], set()),
        ({"dev-team": with_deploy_key("first")}, [("dev-team", "first")], set()),
        # Another key.
        ({"dev-team": with_deploy_key("second")}, [("dev-team", "first")], {"dev-team"}),
        # An update before was refused: both keys are registered.
        ({"dev-team": with_deploy_key("second")}, [("dev-team", "first"), ("dev-team", "second")], {"dev-team"}),
        # Back to the key before, which is still registered.
        ({"dev-team": with_deploy_key("first")}, [("dev-team", "first"), ("dev-team", "second")], {"dev-team"}),
        # Away from deploy keys, or from GitHub.
        ({"dev-team": {"https": {"password": "pa55word"}}}, [("dev-team", "first")], {"dev-team"}),
        ({"dev-team": BYO}, [("dev-team", "first")], {"dev-team"}),
        # One tenant's matter is not another's.
        (
            {"dev-team": with_deploy_key("second"), "ops-team": with_deploy_key("third")},
            [("dev-team", "first"), ("ops-team", "third")],
            {"dev-team"},
        ),
        # A tenant that goes takes its key with it.
        ({}, [("dev-team", "first")], set()),
        ({"dev": with_deploy_key("second")}, [("dev-team", "first")], set()),
    ],
)
def test_a_source_rotates_while_github_has_a_key_of_its_that_is_not_wanted_any_more(tenants, before, expected):
    assert rotating(stack(tenants), at_github(*before)) == expected


def test_the_platforms_own_key_is_rotated_as_a_tenants_is():
    config = stack(platform=with_deploy_key("second"))

    assert rotating(config, at_github(("flux-system", "first"))) == {"flux-system"}
    assert rotating(config, at_github(("flux-system", "second"))) == set()
    assert rotating(stack(), at_github(("flux-system", "first"))) == set()


def checked(sources, progress, preview=False):
    """What `proven` gives for such progress, once the program has ended."""
    found: list[Any] = []
    run(lambda: proven(sources, pulumi.Output.from_input(progress)).apply(found.append), preview=preview)
    return found[0]


def test_sources_that_were_fetched_let_the_keys_before_go():
    progress = {"dev-team": Progress(WELL, WELL), "ops-team": Progress(WELL, SyncStatus("False", "path not found"))}

    assert checked({"dev-team", "ops-team"}, progress) == progress


def test_a_source_that_does_not_rotate_may_fail():
    progress = {"dev-team": Progress(REFUSED, WELL), "ops-team": Progress(WELL, WELL)}

    assert checked({"ops-team"}, progress) == progress
    assert checked(set(), progress) == progress


@pytest.mark.parametrize("fetched", [REFUSED, NOT_RECONCILED, SyncStatus("Unknown", "fetching")])
def test_a_new_key_that_has_not_been_seen_to_work_leaves_the_one_before_and_says_why(fetched):
    with pytest.raises(pulumi.RunError) as refused:
        # That what was fetched before is applied proves nothing of the new key.
        checked({"dev-team"}, {"dev-team": Progress(fetched, WELL)})

    assert str(refused.value) == (
        "the new deploy key has not been seen to work, so the one before stays registered; mend what is wrong, or take "
        f"the key before back, and run `pulumi up` again:\n  dev-team: {fetched.message}"
    )


def test_every_source_that_is_stuck_is_named_and_no_other():
    progress = {
        "ops-team": Progress(REFUSED, WELL),
        "dev-team": Progress(NOT_RECONCILED, WELL),
        "qa-team": Progress(WELL, WELL),
        "flux-system": Progress(REFUSED, WELL),
    }

    with pytest.raises(pulumi.RunError) as refused:
        checked({"ops-team", "dev-team", "qa-team"}, progress)

    assert str(refused.value).splitlines()[1:] == [
        "  dev-team: not reconciled yet",
        "  ops-team: no supported authentication methods",
    ]


def test_a_preview_never_fails_for_a_key_that_nobody_has_seen_yet():
    progress = {"dev-team": Progress(REFUSED, WELL)}

    assert checked({"dev-team"}, progress, preview=True) == progress
