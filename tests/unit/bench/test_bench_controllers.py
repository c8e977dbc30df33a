"""A controller is killed once its memory exceeds the limit of its container, and counts."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any, cast

from bench.controllers import MemoryLimits, controller_processes
from bench.tenant_client import TenantClient
from tests.support.lab import eventually


class FakeClient:
    """Answers with one pod whose container is this process."""

    def __init__(self, pid: int, limit: str, state: str = "running") -> None:
        container = {"resources": {"limits": {"memory": limit}}}
        status = {"containerID": f"process://{pid}", "state": {state: {}}}
        self._pod = {
            "metadata": {"labels": {"app": "helm-controller"}},
            "spec": {"containers": [container]},
            "status": {"containerStatuses": [status]},
        }

    def read(self, path: str) -> dict[str, Any]:
        return {"items": [self._pod]}


def client(*arguments: Any) -> TenantClient:
    return cast(TenantClient, FakeClient(*arguments))


def test_a_controller_beyond_its_limit_is_killed_and_counted_once() -> None:
    process = subprocess.Popen([sys.executable, "-c", "text = 'a' * 2**26; import time; time.sleep(60)"])
    try:
        with MemoryLimits(client(process.pid, "32Mi")) as limits:
            assert process.wait(30) == -signal.SIGKILL
            eventually(limits.take_killed, 5.0, interval=0.05)
    finally:
        process.kill()


def test_a_controller_within_its_limit_goes_on() -> None:
    program = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        # Until then it has hardly any memory.
        process.stdout.readline()
        [found] = controller_processes(client(process.pid, "1Gi"))
        assert (found.name, found.limit) == ("helm-controller", 2**30)
        assert found.memory("RssAnon") < found.memory("VmRSS") < found.limit
        with MemoryLimits(client(process.pid, "1Gi")) as limits:
            assert limits.take_killed() == []
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_a_controller_that_waits_for_its_restart_is_no_process() -> None:
    assert list(controller_processes(client(0, "1Gi", "waiting"))) == []
