"""The lab's settings in the user's shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping

from dev.lab.built import find_built
from dev.lab.cluster import Cluster, clusters
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.git_settings import git_variables
from dev.lab.kubeconfig import use_own_context
from dev.lab.project import provide_project
from dev.lab.pulumi import CLI, FOLDER_VARIABLE, STACK_VARIABLE, LabPulumi
from dev.lab.settings import Settings
from flux_tenancy.review.admission.program import PROGRAM, VARIABLE


def exports(settings: Settings, stack: str | None = None) -> str:
    """Shell commands that export the lab's tools, clusters and Pulumi settings.

    Args:
        stack: name of the current stack for Pulumi and kubectl; by default the one that Pulumi has selected, or else
            that of the first cluster.

    Raises:
        LabError: the lab was never started, or has no cluster for the stack.
    """
    pulumi, existing = _pulumi(settings), _existing(settings)
    if stack is None:
        selected = pulumi.selected(provide_project(settings))
        stack = selected if selected in existing else next(iter(existing), None)
    elif stack not in existing:
        raise missing_cluster(settings, stack)
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in _variables(settings, stack).items())


def missing_cluster(settings: Settings, stack: str) -> LabError:
    """The error for a cluster that does not exist."""
    return LabError(
        f"there is no cluster {stack} in {settings.state / 'clusters'}", f"`make up STACK={stack}` creates it"
    )


def prepare_update(settings: Settings, stack: str) -> None:
    """Run `flux-tenancy drift repair` for a stack of the lab; it does nothing before the first update.

    Raises:
        LabError: it failed, or the stack is not what was approved; the command has printed the reason.
    """
    command = [sys.executable, "-m", "flux_tenancy.command", "drift", "repair", "--stack", stack]
    environ = os.environ | _variables(settings, stack)
    if subprocess.run(command, cwd=settings.pulumi_project, env=environ, check=False).returncode:
        raise LabError(f"the stack {stack} was not updated", "fix the error above and run the command again")


def _existing(settings: Settings) -> dict[str, Cluster]:
    return {each.name: each for each in clusters(settings) if each.exists()}


def _pulumi(settings: Settings) -> LabPulumi:
    pulumi = LabPulumi(settings)
    if not (pulumi.bin / CLI).exists():
        others = [f"`export LAB_PORT_BASE={base}`" for base in settings.started_elsewhere()]
        raise LabError(
            f"there is no Pulumi in {pulumi.bin} yet",
            f"{' or '.join(others)} selects the lab that was started; `make up` starts this one"
            if others
            else "`make up` or `make start` installs it",
        )
    return pulumi


def _variables(settings: Settings, stack: str | None) -> Mapping[str, str]:
    pulumi, existing = _pulumi(settings), _existing(settings)
    # flux-tenancy, kubectl and sops are installed in the same folder as this Python.
    programs = (str(pulumi.bin), sysconfig.get_path("scripts"))
    # With several kubeconfigs, kubectl uses the current context of the first.
    first = [existing.pop(stack)] if stack in existing else []
    for cluster in first:
        use_own_context(cluster.kubeconfig, cluster.name)
    return {
        "PATH": os.pathsep.join(dict.fromkeys([*programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)])),
        "KUBECONFIG": os.pathsep.join(str(each.kubeconfig) for each in (*first, *existing.values())),
        **pulumi.environment(),
        **git_variables(GitHost(settings)),
        **({STACK_VARIABLE: stack} if stack else {}),
        **({VARIABLE: str(path)} if (path := find_built(settings, PROGRAM)) else {}),
        **_variables_of_the_lab(settings),
    }


def _variables_of_the_lab(settings: Settings) -> Mapping[str, str]:
    """Variables with which `make` and `pulumi` use this lab; otherwise `pulumi` would read files of the default one."""
    if settings.is_default:
        # If the shell has another lab's settings.
        return {FOLDER_VARIABLE: ""} if os.environ.get(FOLDER_VARIABLE) else {}
    return {
        FOLDER_VARIABLE: str(provide_project(settings)),
        "LAB_STATE": str(settings.state),
        "LAB_PORT_BASE": str(settings.port_base),
    }
