"""The lab in the user's own shell, and in commands that are run for a stack."""

from __future__ import annotations

import os
import shlex
import sysconfig
from collections.abc import Mapping, Sequence
from typing import NoReturn

from lab.cluster import clusters
from lab.errors import LabError
from lab.pulumi import CLI, LabPulumi
from lab.settings import Settings


def exports(settings: Settings) -> str:
    """Shell commands that put the lab's tools, clusters and Pulumi settings into the environment.

    Raises:
        LabError: the lab was never started, so there is nothing to lead to.
    """
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in _variables(settings).items())


def execute(settings: Settings, stack: str, command: Sequence[str]) -> NoReturn:
    """Become a command, with the lab's settings if the stack's cluster is one of the lab's.

    A stack of another cluster has the Pulumi, backend and credentials of whoever calls.

    Args:
        stack: name of the stack.
        command: program, looked for on PATH, and arguments.

    Raises:
        LabError: the program cannot be run, or the lab has the cluster but no Pulumi yet.
    """
    lab = _variables(settings) if _has_cluster(settings, stack) else {}
    try:
        os.execvpe(command[0], list(command), os.environ | lab)
    except OSError as error:
        raise LabError(f"cannot run {command[0]}: {error.strerror}", "see that it is installed and on PATH") from error


def _has_cluster(settings: Settings, stack: str) -> bool:
    return any(each.name == stack and each.exists() for each in clusters(settings))


def _variables(settings: Settings) -> Mapping[str, str]:
    pulumi = LabPulumi(settings)
    if not (pulumi.bin / CLI).exists():
        raise LabError(f"there is no Pulumi in {pulumi.bin} yet", "`make up` or `make start` installs it")
    # kubectl and sops are installed beside this Python.
    programs = (str(pulumi.bin), sysconfig.get_path("scripts"))
    return {
        "PATH": os.pathsep.join(dict.fromkeys([*programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)])),
        "KUBECONFIG": os.pathsep.join(str(each.kubeconfig) for each in clusters(settings) if each.exists()),
        **pulumi.environment(),
    }
