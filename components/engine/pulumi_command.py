"""What the `pulumi` command above the program was asked to do, of which the engine tells the program nothing.

As for the file of its configuration (`components.engine.config_file`), the command is read where it runs. Where it is
not found, the answer is the one that does no harm: whatever is checked before an update is checked.

Source: https://www.pulumi.com/docs/iac/cli/commands/, and `PersistentFlags` in pkg/cmd/pulumi/pulumi.go of Pulumi
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.engine.config_file import Process, pulumi_command

# Commands that read what there is, or remove it. With `--run-program` they run the program, too.
_CREATING_NOTHING = frozenset({"destroy", "down", "dn", "refresh"})
# Options of all commands that are followed by a value, so that it is not taken for the command.
_WITH_VALUE = frozenset(
    {"-C", "--cwd", "--color", "-v", "--verbose", "--tracing", "--otel-traces", "--profiling", "--memprofilerate"}
)
_PLANS = ("--save-plan", "--strict")
_PLAN_VARIABLES = ("PULUMI_OPTION_SAVE_PLAN", "PULUMI_OPTION_STRICT", "PULUMI_EXPERIMENTAL")
_FALSE = ("", "0", "false")


def creates_nothing(processes: Iterable[Process] | None = None) -> bool:
    """Whether the program runs for `pulumi destroy` or `pulumi refresh`, which create nothing.

    Args:
        processes: the ancestors of this process, nearest first; None looks for them.
    """
    command = pulumi_command(processes)
    return command is not None and next(_positional(command.arguments[1:]), None) in _CREATING_NOTHING


def makes_plan(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether an update may be held to what this preview says (`pulumi preview --save-plan`).

    Args:
        processes: the ancestors of this process, nearest first; None looks for them.
        environ: the environment, which the command passes on.
    """
    command = pulumi_command(processes)
    if command is None or any(environ.get(name, "").lower() not in _FALSE for name in _PLAN_VARIABLES):
        return True
    return any(argument.partition("=")[0] in _PLANS for argument in command.arguments[1:])


def _positional(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments that are neither options of all commands nor their values."""
    rest = iter(arguments)
    for argument in rest:
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            yield argument
