"""The log files of the lab and their names."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.lab.cluster import Cluster, clusters
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.settings import Settings


@dataclass(frozen=True)
class Log:
    """A log file.

    Attributes:
        name: ``gitea``, ``github-proxy``, ``<cluster>/<part>``, or ``<cluster>/<namespace>/<pod>/<container>``;
            the log of a container's previous run ends with ``.previous``.
        path: the file.
    """

    name: str
    path: Path

    def matches(self, name: str) -> bool:
        """Whether ``name`` is this log's name, or the beginning of its pod's, with or without the namespace."""
        if self.name == name:
            return True
        of_a_pod = self.name.count("/") == 3
        return of_a_pod and any(self.name.split("/", level)[-1].startswith(name) for level in range(3))


def logs(settings: Settings) -> list[Log]:
    """All logs of the lab: of the Git host, of the clusters' components and of their pods."""
    found = [Log(daemon.name, daemon.log) for daemon in GitHost(settings).daemons()]
    for cluster in clusters(settings):
        found += [Log(daemon.name, daemon.log) for daemon in cluster.daemons().values()]
        found += [Log(_pod_log_name(cluster, path), path) for path in sorted(cluster.pod_logs.glob("*.log"))]
    return [log for log in found if log.path.exists()]


def _pod_log_name(cluster: Cluster, path: Path) -> str:
    # <namespace>_<pod>_<container>.log: none of the three can contain an underscore.
    return "/".join((cluster.name, *path.name.removesuffix(".log").split("_")))


def show(settings: Settings, name: str, lines: int, follow: bool) -> None:
    """Print the end of the logs that match ``name``.

    Args:
        lines: number of lines of each log.
        follow: keep printing new lines until interrupted.

    Raises:
        LabError: no log matches the name.
    """
    chosen: Sequence[Log] = [log for log in logs(settings) if log.matches(name)]
    if not chosen:
        raise LabError(f"there is no log of {name!r}", "`make logs` lists all logs")
    arguments = ["tail", "-n", str(lines), *(["-F"] if follow else []), *(str(log.path) for log in chosen)]
    subprocess.run(arguments, check=False)
