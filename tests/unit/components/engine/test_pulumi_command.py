"""What the `pulumi` command that runs the program does."""

from pathlib import Path

import pytest

from flux_tenancy.components.engine.pulumi_command import (
    Process,
    creates_nothing,
    excludes,
    ignores_protection,
    makes_plan,
    refreshes,
)

WORK = Path("/work")
HOST = Process(["/usr/bin/pulumi-language-python", "-root=/work", "127.0.0.1:1"], WORK)
OUTER = Process(["pulumi", "destroy", "--save-plan", "outer.json"], WORK)


def command(*arguments):
    """The ancestors of a program that such a command runs, below an unrelated command."""
    return [HOST, Process(["/usr/bin/pulumi", *arguments], WORK), OUTER]


@pytest.mark.parametrize(
    "arguments",
    [
        ["destroy", "--yes", "--run-program"],
        ["down"],
        ["dn"],
        ["refresh", "--run-program"],
        ["-C", "/platform", "--non-interactive", "destroy"],
        ["--cwd=/platform", "--color", "never", "-v", "9", "refresh"],
    ],
)
def test_destroy_and_refresh_create_nothing(arguments):
    assert creates_nothing(command(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["up", "--refresh"],
        ["preview", "--stack", "destroy"],
        ["-C", "destroy", "up"],
        ["up", "--target", "refresh"],
        # The argument after an unknown option may be its value.
        ["--of-tomorrow", "up", "destroy"],
        [],
    ],
)
def test_all_other_commands_may_create_something(arguments):
    assert not creates_nothing(command(*arguments))


@pytest.mark.parametrize(
    ("arguments", "environ", "plans"),
    [
        (["preview", "--save-plan", "plan.json"], {}, True),
        (["preview", "--save-plan=plan.json"], {}, True),
        (["up", "--strict"], {}, True),
        (["preview"], {"PULUMI_OPTION_SAVE_PLAN": "plan.json"}, True),
        (["up"], {"PULUMI_EXPERIMENTAL": "true"}, True),
        (["up"], {"PULUMI_EXPERIMENTAL": "false"}, False),
        (["preview"], {}, False),
        (["up", "--plan", "plan.json"], {}, False),
    ],
)
def test_a_preview_whose_plan_may_be_saved_is_recognized(arguments, environ, plans):
    assert makes_plan(command(*arguments), environ) is plans


@pytest.mark.parametrize(
    ("arguments", "environ", "ignores"),
    [
        (["up", "--ignore-protect", "--yes"], {}, True),
        (["preview", "--ignore-protect=true"], {}, True),
        (["up"], {"PULUMI_OPTION_IGNORE_PROTECT": "true"}, True),
        (["up", "--ignore-protect=false"], {}, False),
        # An option on the command line takes precedence.
        (["up", "--ignore-protect=false"], {"PULUMI_OPTION_IGNORE_PROTECT": "true"}, False),
        (["up"], {"PULUMI_OPTION_IGNORE_PROTECT": "false"}, False),
        (["up", "--yes"], {}, False),
    ],
)
def test_a_command_that_ignores_protection_is_recognized(arguments, environ, ignores):
    assert ignores_protection(command(*arguments), environ) is ignores


@pytest.mark.parametrize(
    ("arguments", "environ", "refreshed"),
    [
        (["up", "--yes", "--refresh"], {}, True),
        (["preview", "-r"], {}, True),
        (["up", "--refresh=false"], {"PULUMI_OPTION_REFRESH": "true"}, False),
        (["up"], {"PULUMI_OPTION_REFRESH": "true"}, True),
        (["refresh"], {}, False),
    ],
)
def test_a_command_that_refreshes_first_is_recognized(arguments, environ, refreshed):
    assert refreshes(command(*arguments), environ) is refreshed


@pytest.mark.parametrize(
    ("arguments", "excluded"),
    [
        (["up", "--exclude", "**github:**"], True),
        (["up", "--yes", "--exclude=**github:**"], True),
        (["up", "--exclude", "**Tenant::shop", "--exclude", "**github:**"], True),
        (["up", "--exclude", "**github:index/**"], False),
        (["up", "--target", "**github:**"], False),
        (["up", "**github:**"], False),
        (["up"], False),
    ],
)
def test_a_command_that_excludes_a_pattern_is_recognized(arguments, excluded):
    assert excludes("**github:**", command(*arguments)) is excluded


def test_without_a_command_everything_is_checked_and_a_plan_is_assumed():
    assert not creates_nothing([HOST])
    assert not ignores_protection([HOST], {})
    assert not refreshes([HOST], {})
    assert not excludes("**github:**", [HOST])
    assert makes_plan([HOST], {})
