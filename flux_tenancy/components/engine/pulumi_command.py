"""The `pulumi` command that runs the program, which the engine does not pass on.

The command is an ancestor of this process, so it is read from the process table. If it is not found, the safe answer is
given: everything is checked that would be checked before an update.

Source: https://www.pulumi.com/docs/iac/cli/commands/, and `PersistentFlags` in pkg/cmd/pulumi/pulumi.go of Pulumi

`--config-file` can name another file than `Pulumi.<stack>.yaml`, and the engine does not tell the program either.
Source: `declareFlagsAsEnvironmentVariables` in pkg/cmd/pulumi/pulumi.go of Pulumi, which gives each option an
environment variable
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

OPTION = "--config-file"
VARIABLE = "PULUMI_OPTION_CONFIG_FILE"
_COMMAND, _PLUGIN = "pulumi", "pulumi-language"


@dataclass(frozen=True)
class Process:
    """A process.

    Attributes:
        arguments: its command line, the program first.
    """

    arguments: Sequence[str]
    folder: Path


@dataclass(frozen=True)
class ConfigFile:
    """The file that the command line names.

    Attributes:
        known: whether the command was found; if not, any file may have been read.
        given: the file that it names; None if it names none, so that the stack's own is read.
    """

    known: bool
    given: Path | None = None


def config_file(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> ConfigFile:
    """Find the file that the `pulumi` command names."""
    if (process := pulumi_command(processes)) is not None:
        # If it is given several times, the last one counts.
        named = ["", *_values(process.arguments[1:], OPTION)][-1] or environ.get(VARIABLE)
        return ConfigFile(True, process.folder / named if named else None)
    named = environ.get(VARIABLE)
    return ConfigFile(False, Path(named).absolute() if named else None)


def pulumi_command(processes: Iterable[Process] | None = None) -> Process | None:
    """The `pulumi` command that runs this program; None if it is not found."""
    for process in ancestors() if processes is None else processes:
        name = Path(process.arguments[0]).name if process.arguments else ""
        if name.startswith(_COMMAND) and not name.startswith(_PLUGIN):
            return process
    return None


def ancestors() -> Iterator[Process]:
    """The ancestors of this process, nearest first, up to the first that has ended or cannot be read."""
    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            yield Process(process.cmdline(), Path(process.cwd()))


def _values(arguments: Sequence[str], option: str) -> Iterator[str]:
    """The values of an option, which may be given several times."""
    for index, argument in enumerate(arguments):
        if argument == "--":
            return
        if argument == option and index + 1 < len(arguments):
            yield arguments[index + 1]
        elif argument.startswith(f"{option}="):
            yield argument.removeprefix(f"{option}=")


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
_TARGET, _EXCLUDE = "--target", "--exclude"
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
    """Whether the program runs for `pulumi destroy` or `pulumi refresh`, which create nothing."""
    command = pulumi_command(processes)
    return command is not None and next(_positional(command.arguments[1:]), None) in _CREATING_NOTHING


def makes_plan(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the preview may be saved as a plan (`pulumi preview --save-plan`), which an update has to match."""
    command = pulumi_command(processes)
    if command is None or any(environ.get(name, "").lower() not in _FALSE for name in _PLAN_VARIABLES):
        return True
    return any(argument.partition("=")[0] in _PLANS for argument in command.arguments[1:])


def ignores_protection(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the command deletes protected resources on purpose (`pulumi up --ignore-protect`)."""
    return _is_given(pulumi_command(processes), environ, "--ignore-protect")


def changing_options(
    harmless_targets: Collection[str] = (),
    processes: Iterable[Process] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[str]:
    """The options of the command that change what it applies, or that this program does not know.

    Args:
        harmless_targets: values of `--target` that change nothing.
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
    """
    return _is_given(pulumi_command(processes), environ, "--refresh", "-r")


def excludes(pattern: str, processes: Iterable[Process] | None = None) -> bool:
    """Whether the command leaves out the resources of a pattern (`--exclude`).

    Args:
        pattern: exactly as on the command line.
    """
    command = pulumi_command(processes)
    return command is not None and pattern in _values(command.arguments[1:], _EXCLUDE)


def _is_given(command: Process | None, environ: Mapping[str, str], option: str, short: str = "") -> bool:
    """Whether an option is set by its variable or, which takes precedence, by the command."""
    given = environ.get(_PREFIX + option.removeprefix("--").replace("-", "_").upper(), "")
    for argument in command.arguments[1:] if command is not None else ():
        name, has_value, value = argument.partition("=")
        if name in (option, short):
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
