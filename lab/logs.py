"""The log files of the lab, by names that people know."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cluster import Cluster, clusters
from lab.errors import LabError
from lab.git_host import GitHost
from lab.settings import Settings


@dataclass(frozen=True)
class Log:
    """A log file.

    Attributes:
        name: ``gitea``, ``github-proxy``, ``<cluster>/<part>``, or ``<cluster>/<namespace>/<pod>/<container>``;
            the log of a container's run before the present one ends with ``.previous``.
        path: the file.
    """

    name: str
    path: Path

    def answers_to(self, name: str) -> bool:
        """Whether ``name`` is this log's, or how its pod's begins, be it from the namespace or the pod on."""
        if self.name == name:
            return True
        of_a_pod = self.name.count("/") == 3
        return of_a_pod and any(self.name.split("/", level)[-1].startswith(name) for level in range(3))


def logs(settings: Settings) -> list[Log]:
    """All logs of the lab: the Git host's, the clusters' parts' and their pods'."""
    found = [Log(daemon.name, daemon.log) for daemon in GitHost(settings).daemons()]
    for cluster in clusters(settings):
        found += [Log(daemon.name, daemon.log) for daemon in cluster.daemons().values()]
        found += [Log(_pod_log_name(cluster, path), path) for path in sorted(cluster.pod_logs.glob("*.log"))]
    return [log for log in found if log.path.exists()]


def _pod_log_name(cluster: Cluster, path: Path) -> str:
    # <namespace>_<pod>_<container>.log: none of the three can have an underscore.
    return "/".join((cluster.name, *path.name.removesuffix(".log").split("_")))


def show(settings: Settings, name: str, lines: int, follow: bool) -> None:
    """Print the end of the logs that answer to ``name``.

    Args:
        lines: how many of each log.
        follow: go on with what is added, until interrupted.

    Raises:
        LabError: no log answers to the name.
    """
    chosen: Sequence[Log] = [log for log in logs(settings) if log.answers_to(name)]
    if not chosen:
        raise LabError(f"there is no log of {name!r}", "`make logs` lists all logs")
    arguments = ["tail", "-n", str(lines), *(["-F"] if follow else []), *(str(log.path) for log in chosen)]
    subprocess.run(arguments, check=False)
