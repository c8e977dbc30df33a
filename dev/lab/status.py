"""The state of the lab's processes, and how to reach them."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dev.lab.cluster import Cluster, clusters
from dev.lab.git_host import GitHost
from dev.lab.processes import LOOPBACK, Daemon
from dev.lab.settings import Settings

_FILE_WIDTH = 240
"""Columns if the output is not a terminal: enough for the longest path of a log."""


def show(settings: Settings) -> None:
    """Print the state of all processes, and their addresses, contexts and files."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    host, known = GitHost(settings), clusters(settings)
    if not known and not host.gitea.credentials_file.exists():
        console.print(f"There is no lab in {settings.state}; `make up` creates it.", soft_wrap=True)
        return
    console.print(_processes(host, known))
    console.print(Group(*_addresses(settings, host, known)), soft_wrap=True)


def _processes(host: GitHost, known: list[Cluster]) -> Table:
    table = Table("Process", "State", "PID", "Address", "Log", box=None, pad_edge=False, header_style="bold")
    daemons = [*host.daemons(), *(daemon for cluster in known for daemon in cluster.daemons().values())]
    for daemon in daemons:
        table.add_row(*_row(daemon))
    return table


def _row(daemon: Daemon) -> tuple[RenderableType, ...]:
    process = daemon.process()
    if process is None:
        state = Text("stopped", style="red")
    elif daemon.ready():
        state = Text("ready", style="green")
    else:
        state = Text("not ready", style="yellow")
    address = f"{LOOPBACK}:{', '.join(map(str, daemon.ports))}"
    return (
        daemon.name,
        state,
        str(process.pid) if process else "",
        address,
        Text(str(daemon.log), overflow="fold"),
    )


def _addresses(settings: Settings, host: GitHost, known: list[Cluster]) -> list[str]:
    lines = [""]
    lines += [f"Cluster {each.name}: context {each.name} of {each.kubeconfig}" for each in known if each.exists()]
    lines += [warning for each in known if (warning := each.warning)]
    lines += [
        f"Git host: {host.gitea.address}, user name and password in {host.gitea.credentials_file}",
        f"The same with GitHub's API: {host.github_url} and {host.proxy.secure_address}/, token in {host.token_file}",
        f"Stack and tenant files: {settings.pulumi_project}",
        'To use all of it in your shell: eval "$(make -s env)"',
    ]
    return lines
