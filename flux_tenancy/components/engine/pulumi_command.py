"""The `pulumi` command that runs the program, which the engine does not pass on.

It is read from the process table (`components.engine.config_file`). If it is not found, the safe answer is given:
everything is checked that would be checked before an update.

Source: https://www.pulumi.com/docs/iac/cli/commands/, and `PersistentFlags` in pkg/cmd/pulumi/pulumi.go of Pulumi
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from flux_tenancy.components.engine.config_file import Process, pulumi_command

# Commands that only read or delete. With `--run-program`, they also run the program.
_CREATING_NOTHING = frozenset({"destroy", "down", "dn", "refresh"})
# Global options that take a value, which must not be mistaken for the command.
_WITH_VALUE = frozenset(
    {"-C", "--cwd", "--color", "-v", "--verbose", "--tracing", "--otel-traces", "--profiling", "--memprofilerate"}
)
_PLANS = ("--save-plan", "--strict")
_PLAN_VARIABLES = ("PULUMI_OPTION_SAVE_PLAN", "PULUMI_OPTION_STRICT", "PULUMI_EXPERIMENTAL")
_FALSE = ("", "0", "false")
_PREFIX = "PULUMI_OPTION_"
_TARGET = "--target"
# Options that say where the stack is, how the engine works and what it prints; what it applies is the same.
# Source: pkg/cmd/pulumi/operations/up.go and preview.go of Pulumi
_HARMLESS = frozenset(
    {
        *("--stack", "-s", "--cwd", "-C", "--config-file", "--message", "-m", "--parallel", "-p", "--debug", "-d"),
        *("--yes", "-y", "--skip-preview", "-f", "--non-interactive", "--expect-no-changes", "--strict"),
        *("--refresh", "-r", "--plan", "--save-plan", "--disable-integrity-checking", "--run-program"),
        *("--color", "--diff", "--json", "-j", "--emoji", "-e", "--verbose", "-v", "--logtostderr", "--logflow"),
        *(
            "--continue-on-error",
            "--suppress-outputs",
            "--suppress-permalink",
            "--suppress-progress",
            "--suppress-stream-logs",
        ),
        *("--show-config", "--show-full-output", "--show-reads", "--show-replacement-steps", "--show-sames"),
        *("--show-secrets", "--tracing", "--profiling", "--memprofilerate", "--otel-traces", "--event-log"),
        *("--client", "--exec-kind", "--exec-agent"),
    }
)


def creates_nothing(processes: Iterable[Process] | None = None) -> bool:
    """Whether the program runs for `pulumi destroy` or `pulumi refresh`, which create nothing.

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
    """
    command = pulumi_command(processes)
    return command is not None and next(_positional(command.arguments[1:]), None) in _CREATING_NOTHING


def makes_plan(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the preview may be saved as a plan (`pulumi preview --save-plan`), which an update has to match.

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
        environ: the environment, which this process inherits from the command.
    """
    command = pulumi_command(processes)
    if command is None or any(environ.get(name, "").lower() not in _FALSE for name in _PLAN_VARIABLES):
        return True
    return any(argument.partition("=")[0] in _PLANS for argument in command.arguments[1:])


def ignores_protection(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the command deletes protected resources on purpose (`pulumi up --ignore-protect`).

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
        environ: the environment, which this process inherits from the command.
    """
    return _is_given(("--ignore-protect",), "PULUMI_OPTION_IGNORE_PROTECT", processes, environ)


def changing_options(
    harmless_targets: Collection[str] = (),
    processes: Iterable[Process] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[str]:
    """The options of the command that change what it applies, or that this program does not know.

    Args:
        harmless_targets: values of `--target` that change nothing.
        processes: the ancestors of this process, nearest first; None finds them.
        environ: the environment, which this process inherits from the command.
    """
    named = [name for name, value in environ.items() if name.startswith(_PREFIX) and value.lower() not in _FALSE]
    found = [f"--{name.removeprefix(_PREFIX).lower().replace('_', '-')}" for name in named]
    if (command := pulumi_command(processes)) is None:
        return sorted({*found} - _HARMLESS)
    arguments = command.arguments[1:]
    for argument in arguments[: arguments.index("--")] if "--" in arguments else arguments:
        option, _, value = argument.partition("=")
        if argument.startswith("-") and not (option == _TARGET and value in harmless_targets):
            found.append(option)
    return sorted({*found} - _HARMLESS)


def refreshes(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the engine has compared the state with the cluster before it runs the program (`pulumi up --refresh`).

    What the program reads may still be the state as it was before: the engine does not always write the result first.

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
        environ: the environment, which this process inherits from the command.
    """
    return _is_given(("--refresh", "-r"), "PULUMI_OPTION_REFRESH", processes, environ)


def _is_given(
    options: Collection[str], variable: str, processes: Iterable[Process] | None, environ: Mapping[str, str]
) -> bool:
    """Whether an option is set by the environment or, which takes precedence, by the command."""
    given = environ.get(variable, "")
    command = pulumi_command(processes)
    for argument in command.arguments[1:] if command is not None else ():
        option, has_value, value = argument.partition("=")
        if option in options:
            given = value if has_value else "true"
    return given.lower() not in _FALSE


def _positional(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments that are neither global options nor their values."""
    rest = iter(arguments)
    for argument in rest:
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            yield argument
