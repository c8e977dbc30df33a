"""The file from which `pulumi` has read the stack's configuration.

`--config-file` can name another file than `Pulumi.<stack>.yaml`, and the engine does not tell the program. The command
is an ancestor of the program's process, so its command line is read from the process table.

Source: https://www.pulumi.com/docs/iac/cli/commands/pulumi_up/, and `declareFlagsAsEnvironmentVariables` in
pkg/cmd/pulumi/pulumi.go of Pulumi, which gives each option an environment variable
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        folder: its working directory.
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
    """Find the file that the `pulumi` command names.

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
        environ: the environment, which this process inherits from the command.
    """
    if (process := pulumi_command(processes)) is not None:
        named = _option(process.arguments[1:]) or environ.get(VARIABLE)
        return ConfigFile(True, process.folder / named if named else None)
    named = environ.get(VARIABLE)
    return ConfigFile(False, Path(named).absolute() if named else None)


def pulumi_command(processes: Iterable[Process] | None = None) -> Process | None:
    """The `pulumi` command that runs this program; None if it is not found.

    Args:
        processes: the ancestors of this process, nearest first; None finds them.
    """
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


def _option(arguments: Sequence[str]) -> str:
    """The value of the option; if it is given several times, the last one."""
    value = ""
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == OPTION and index + 1 < len(arguments):
            value = arguments[index + 1]
        elif argument.startswith(f"{OPTION}="):
            value = argument.removeprefix(f"{OPTION}=")
    return value
