"""Which file `pulumi` has read the stack's configuration from.

`--config-file` names another than `Pulumi.<stack>.yaml`, and the engine does not tell the program. The command is an
ancestor of the program's process, so it is read there.

Source: https://www.pulumi.com/docs/iac/cli/commands/pulumi_up/, and `declareFlagsAsEnvironmentVariables` of
pulumi/pkg/cmd/pulumi/pulumi.go, by which each option has an environment variable
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OPTION = "--config-file"
VARIABLE = "PULUMI_OPTION_CONFIG_FILE"
_COMMAND, _PLUGIN = "pulumi", "pulumi-language"
_PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process.

    Attributes:
        arguments: its command line, the program first.
        folder: its working folder.
    """

    arguments: Sequence[str]
    folder: Path


@dataclass(frozen=True)
class ConfigFile:
    """What the command line says of the file.

    Attributes:
        known: whether the command was found at all; where it was not, any file may have been read.
        given: the file that it names; None where that is the stack's own.
    """

    known: bool
    given: Path | None = None


def config_file(processes: Iterable[Process] | None = None, environ: Mapping[str, str] = os.environ) -> ConfigFile:
    """Find the file that the `pulumi` command above this process was told to read.

    Args:
        processes: the ancestors of this process, nearest first; None looks for them.
        environ: the environment, which the command passes on.
    """
    if (process := pulumi_command(processes)) is not None:
        named = _option(process.arguments[1:]) or environ.get(VARIABLE)
        return ConfigFile(True, process.folder / named if named else None)
    named = environ.get(VARIABLE)
    return ConfigFile(False, Path(named).absolute() if named else None)


def pulumi_command(processes: Iterable[Process] | None = None) -> Process | None:
    """The `pulumi` command that runs this program; None where it is not to be seen.

    Args:
        processes: the ancestors of this process, nearest first; None looks for them.
    """
    for process in ancestors() if processes is None else processes:
        name = Path(process.arguments[0]).name if process.arguments else ""
        if name.startswith(_COMMAND) and not name.startswith(_PLUGIN):
            return process
    return None


def ancestors() -> Iterator[Process]:
    """The ancestors of this process, nearest first, as far as the system shows them."""
    pid = os.getppid()
    while pid > 0:
        found = _from_files(pid) if _PROCESSES.is_dir() else _from_command(pid)
        if found is None:
            return
        pid, process = found
        yield process


def _option(arguments: Sequence[str]) -> str:
    """The value of the option; the last one counts."""
    value = ""
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == OPTION and index + 1 < len(arguments):
            value = arguments[index + 1]
        elif argument.startswith(f"{OPTION}="):
            value = argument.removeprefix(f"{OPTION}=")
    return value


def _from_files(pid: int) -> tuple[int, Process] | None:
    """A process of Linux, with its parent."""
    folder = _PROCESSES / str(pid)
    try:
        # The second field is a name in brackets, which may hold anything.
        parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        arguments = (folder / "cmdline").read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
        return parent, Process(arguments, (folder / "cwd").readlink())
    except (OSError, ValueError, IndexError):
        return None


def _from_command(pid: int) -> tuple[int, Process] | None:
    """A process of macOS and the like, with its parent. `ps` joins arguments with spaces and tells no folder."""
    try:
        done = subprocess.run(["ps", "-ww", "-o", "ppid=,args=", "-p", str(pid)], capture_output=True, text=True)
        parent, *arguments = done.stdout.split()
        return int(parent), Process(arguments, Path.cwd())
    except (OSError, ValueError):
        return None
