"""The lab's commands; the Makefile has a target for most. Run ``python -m dev.lab --help``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dev.lab import logs as lab_logs
from dev.lab import status as lab_status
from dev.lab.build import built, ensure, tools_for
from dev.lab.cluster import Cluster, clusters
from dev.lab.errors import reported
from dev.lab.files import delete_folder
from dev.lab.git_host import GitHost
from dev.lab.images import is_controller
from dev.lab.processes import check_ports
from dev.lab.project import check_stack_files, delete_project, names_lab_files, provide_project
from dev.lab.pulumi import CLI, PLUGINS, STACK_VARIABLE, LabPulumi, provide_bundles
from dev.lab.pulumi import up as apply_stack
from dev.lab.removal import remove_clusters
from dev.lab.settings import STATE_PARTS, Settings
from dev.lab.shell import exports, prepare_update

_DEFAULT_STACK = "staging"


class _Commands(TyperGroup):
    """Shows errors of the lab as two lines, not as tracebacks."""

    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    help="A real cluster, Git host and Pulumi on this machine.",
    no_args_is_help=True,
    add_completion=False,
)

Stacks = Annotated[list[str], typer.Argument(help="names of stacks; each has its own cluster", metavar="STACK…")]


@app.command()
def up(stacks: Stacks = [_DEFAULT_STACK]) -> None:  # noqa: B006 - typer copies it
    """Build the tools, start the Git host and the clusters, and bring the stacks up."""
    settings = Settings.load()
    check_stack_files(settings, stacks)
    _start(settings, stacks)
    for stack in stacks:
        prepare_update(settings, stack)
        apply_stack(settings, stack)
    _say_how_to_use(settings, stacks[-1])


@app.command()
def start(stacks: Stacks = [_DEFAULT_STACK]) -> None:  # noqa: B006 - typer copies it
    """Do what `up` does without Pulumi: the stacks are not applied, and need no stack files yet."""
    _start(Settings.load(), stacks)


@app.command()
def bundles() -> None:
    """Provide the files of the lab that its stack files name, for what reads them without a cluster."""
    settings = Settings.load()
    if not names_lab_files(settings):
        return
    provide_bundles(settings)
    GitHost(settings).gitea.host_key.ensure()


@app.command()
def stop() -> None:
    """Stop all processes of the lab; `up` starts them again with their state."""
    _stop(Settings.load())


@app.command()
def down(
    stacks: Annotated[
        list[str] | None, typer.Argument(help="names of stacks; by default the whole lab", metavar="STACK…")
    ] = None,
) -> None:
    """Stop the lab and delete its state: clusters, Git host and Pulumi's. Built tools stay.

    With names, delete only these clusters, with Pulumi's state of their stacks and what they registered.
    """
    settings = Settings.load()
    if stacks:
        remove_clusters(settings, stacks)
        return
    _stop(settings)
    for part in STATE_PARTS:
        delete_folder(settings.state / part)
    if kept := delete_project(settings):
        typer.echo(f"{kept} is kept, since you have changed stack or tenant files in it.", err=True)


@app.command()
def status() -> None:
    """Show what runs where and how to reach it."""
    lab_status.show(Settings.load())


@app.command()
def env(
    stack: Annotated[
        str | None,
        typer.Argument(
            help="name of the current stack for Pulumi and kubectl; by default the one that Pulumi has selected"
        ),
    ] = None,
) -> None:
    """Print commands that set up your shell for the lab: eval "$(make -s env)"."""
    settings = Settings.load()
    typer.echo(exports(settings, stack or None))
    _say_where_files_are(settings)


@app.command()
def logs(
    name: Annotated[
        str | None, typer.Argument(help="name of a process as shown by `status`, or the beginning of a pod's name")
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="keep printing new lines")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="number of lines at the end of each log")] = 50,
) -> None:
    """Show logs of processes and pods, or list them if no name is given."""
    settings = Settings.load()
    if name is None:
        for log in lab_logs.logs(settings):
            typer.echo(f"{log.name}\t{log.path}")
    else:
        lab_logs.show(settings, name, lines, follow)


@app.command()
def tools(
    names: Annotated[list[str] | None, typer.Argument(help="names of tools; by default all that `up` needs")] = None,
) -> None:
    """Build missing tools, and print the path of each tool."""
    settings = Settings.load()
    for name, path in ensure(settings, names or _needed_tools(settings)).items():
        typer.echo(f"{name}\t{path}")


def _start(settings: Settings, names: Sequence[str]) -> None:
    host, wanted = GitHost(settings), [Cluster(settings, name) for name in names]
    # Before the tools are built, which can take half an hour.
    daemons = [*host.daemons(), *(daemon for cluster in wanted for daemon in cluster.daemons().values())]
    check_ports([daemon for daemon in daemons if daemon.process() is None])
    tools = _further_controllers(settings) | ensure(settings, _needed_tools(settings))
    _report("Git host", partial(host.up, tools))
    for cluster in wanted:
        _report(f"Cluster {cluster.name}", partial(cluster.up, tools))
        if warning := cluster.warning:
            typer.echo(warning, err=True)
    provide_bundles(settings)
    LabPulumi(settings).install()
    provide_project(settings)
    _say_where_files_are(settings)


def _say_where_files_are(settings: Settings) -> None:
    if not settings.is_default:
        typer.echo(f"Stack and tenant files of this lab: {settings.pulumi_project}", err=True)


def _say_how_to_use(settings: Settings, stack: str) -> None:
    """Print how to use a stack in the shell, whose current stack does not change by itself."""
    taken = os.environ.get(STACK_VARIABLE)
    command = f'eval "$({f"{settings.assignments} make".lstrip()} -s env STACK={stack})"'
    if not taken:
        typer.echo(f"To use pulumi, flux-tenancy, kubectl and git in your shell: {command}", err=True)
    elif taken != stack:
        typer.echo(f"This shell still uses stack {taken}; to switch to {stack}: {command}", err=True)


def _needed_tools(settings: Settings) -> list[str]:
    """The tools of `up`, without Pulumi if an official one is used."""
    not_needed = {CLI, *PLUGINS}.difference(LabPulumi(settings).tools())
    return [name for name in tools_for(settings, "up") if name not in not_needed]


def _further_controllers(settings: Settings) -> dict[str, Path]:
    """The controllers that are built already, so that their pods run, though `up` needs none of them."""
    names = filter(is_controller, tools_for(settings, "test-all"))
    return {name: path for name in names if (path := built(settings, name))}


def _report(what: str, action: Callable[[], None]) -> None:
    """Run an action, and print how long it took."""
    begin = time.monotonic()
    action()
    typer.echo(f"{what} ready after {time.monotonic() - begin:.1f} s", err=True)


def _stop(settings: Settings) -> None:
    LabPulumi(settings).stop()
    for cluster in clusters(settings):
        cluster.stop()
    GitHost(settings).stop()


if __name__ == "__main__":
    app(prog_name="python -m dev.lab")
