"""The processes of Flux's controllers in the lab, the memory that they use, and how often they had none left."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dev.bench.tenant_client import TenantClient
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE

_SCHEME = "process://"
"""Of a container's id in the lab, before the id of its process."""
_OOM_KILLED = "OOMKilled"
"""Reason that a kubelet gives."""


@dataclass(frozen=True)
class ControllerProcess:
    """The running process of a controller.

    Attributes:
        name: of its Deployment.
        pid: its id.
    """

    name: str
    pid: int

    def memory(self, field: str) -> int:
        """A part of the memory that it uses now, by its name in /proc/<pid>/status, in bytes; 0 if it has ended."""
        with contextlib.suppress(OSError):
            found = re.search(rf"^{field}:\s+(\d+) kB$", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
            return int(found[1]) * 1024 if found else 0
        return 0


def controller_processes(client: TenantClient) -> Iterator[ControllerProcess]:
    """The running controllers; raises LabError if the API server does not answer."""
    for pod in _pods(client):
        for status in pod.get("status", {}).get("containerStatuses", ()):
            if "running" in status["state"]:
                yield ControllerProcess(_name(pod), int(status["containerID"].removeprefix(_SCHEME)))


class OomKills:
    """Counts the controllers that the kernel kills because they exceed their memory limit, by their pods' statuses."""

    def __init__(self, client: TenantClient) -> None:
        self._client = client
        self._seen: dict[str, int] = {}

    def take(self) -> list[str]:
        """The controllers that were killed since the last call, once for each time.

        A status has the reason of the last end only, so it stands for all since then. Raises LabError if the API
        server does not answer.
        """
        killed = []
        for pod in _pods(self._client):
            for status in pod.get("status", {}).get("containerStatuses", ()):
                last = status.get("lastState", {}).get("terminated", {})
                # The last end is followed by a restart that counts only once it has happened.
                ends = status["restartCount"] + (bool(last) and "running" not in status["state"])
                new = ends - self._seen.get(pod["metadata"]["uid"], 0)
                self._seen[pod["metadata"]["uid"]] = ends
                killed += [_name(pod)] * new if last.get("reason") == _OOM_KILLED else []
        return killed


def kill_controllers(client: TenantClient, name: str = "") -> None:
    """End all controllers, or that of one Deployment, so that they start again.

    Raises LabError if the API server does not answer.
    """
    for process in controller_processes(client):
        if name in ("", process.name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


def _pods(client: TenantClient) -> list[Manifest]:
    pods: list[Manifest] = client.read(f"/api/v1/namespaces/{FLUX_NAMESPACE}/pods")["items"]
    return pods


def _name(pod: Manifest) -> str:
    name: str = pod["metadata"]["labels"]["app"]
    return name
