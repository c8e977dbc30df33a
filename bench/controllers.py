"""The processes of Flux's controllers in the lab, with the memory that they use and may use."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from kubernetes.utils.quantity import parse_quantity

from bench.tenant_client import TenantClient
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE
from lab.errors import LabError

_POLL_SECONDS = 0.05
_SCHEME = "process://"
"""Of a container's id in the lab, before the id of its process."""


@dataclass(frozen=True)
class ControllerProcess:
    """The running process of a controller.

    Attributes:
        name: of its Deployment.
        pid: its id.
        limit: the memory that its container may use, in bytes.
    """

    name: str
    pid: int
    limit: int

    def memory(self, field: str) -> int:
        """A part of the memory that it uses now, by its name in /proc/<pid>/status, in bytes; 0 if it has ended."""
        with contextlib.suppress(OSError):
            found = re.search(rf"^{field}:\s+(\d+) kB$", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
            return int(found[1]) * 1024 if found else 0
        return 0


def controller_processes(client: TenantClient) -> Iterator[ControllerProcess]:
    """The running controllers; raises LabError if the API server does not answer."""
    for pod in client.read(f"/api/v1/namespaces/{FLUX_NAMESPACE}/pods")["items"]:
        [container] = pod["spec"]["containers"]
        for status in pod.get("status", {}).get("containerStatuses", ()):
            if "running" in status["state"]:
                pid = int(status["containerID"].removeprefix(_SCHEME))
                limit = int(parse_quantity(container["resources"]["limits"]["memory"]))
                yield ControllerProcess(pod["metadata"]["labels"]["app"], pid, limit)


class MemoryLimits:
    """Kills controllers that exceed their memory limit, as a kernel does for a container, during a `with` block.

    It counts anonymous memory, which a kernel cannot take back.
    """

    def __init__(self, client: TenantClient) -> None:
        self._client = client
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._killed: list[str] = []

    def take_killed(self) -> list[str]:
        """The controllers that were killed since the last call, once for each time."""
        killed, self._killed = self._killed, []
        return killed

    def kill_all(self) -> None:
        """Kill all controllers, so that they start again; these do not count."""
        for process in controller_processes(self._client):
            _kill(process)

    def _run(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            # A busy API server may not answer; the next round asks again.
            with contextlib.suppress(LabError, httpx.HTTPStatusError):
                for process in controller_processes(self._client):
                    if process.memory("RssAnon") > process.limit:
                        _kill(process)
                        self._killed.append(process.name)

    def __enter__(self) -> MemoryLimits:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


def _kill(process: ControllerProcess) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
