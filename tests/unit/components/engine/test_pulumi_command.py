"""What the `pulumi` command above the program was asked to do."""

from pathlib import Path

import pytest

from components.engine.config_file import Process
from components.engine.pulumi_command import creates_nothing, makes_plan

WORK = Path("/work")
HOST = Process(["/usr/bin/pulumi-language-python", "-root=/work", "127.0.0.1:1"], WORK)
OUTER = Process(["pulumi", "destroy", "--save-plan", "outer.json"], WORK)


def command(*arguments):
    """The ancestors of a program that such a command runs, below another command that is none of its business."""
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
        # Of an option that is not known, what follows may be its value.
        ["--of-tomorrow", "up", "destroy"],
        [],
    ],
)
def test_whatever_else_may_create_something(arguments):
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
def test_an_update_is_held_to_a_preview_whose_plan_is_saved(arguments, environ, plans):
    assert makes_plan(command(*arguments), environ) is plans


def test_where_no_command_is_seen_everything_is_checked_and_nothing_promised():
    assert not creates_nothing([HOST])
    assert makes_plan([HOST], {})
