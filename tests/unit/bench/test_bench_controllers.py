"""Controllers that run out of memory are counted by the statuses of their pods."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any, cast

from dev.bench.controllers import OomKills, controller_processes, kill_controllers
from dev.bench.tenant_client import TenantClient


class FakeClient:
    """Answers with one pod."""

    def __init__(self, restarts: int, state: str, last: str | None = None, pid: int = 0, uid: str = "1") -> None:
        self.show(restarts, state, last, pid, uid)

    def show(self, restarts: int, state: str, last: str | None = None, pid: int = 0, uid: str = "1") -> None:
        """Change the status of the pod, or put another one in its place."""
        status = {
            "containerID": f"process://{pid}",
            "restartCount": restarts,
            "state": {state: {}},
            "lastState": {"terminated": {"reason": last}} if last else {},
        }
        self._pod = {
            "metadata": {"uid": uid, "labels": {"app": "helm-controller"}},
            "status": {"containerStatuses": [status]},
        }

    def read(self, path: str) -> dict[str, Any]:
        return {"items": [self._pod]}


def client(fake: FakeClient) -> TenantClient:
    return cast(TenantClient, fake)


def test_each_end_for_memory_counts_once() -> None:
    fake = FakeClient(0, "running")
    kills = OomKills(client(fake))
    assert kills.take() == []
    # It waits for its restart, which counts only when it has happened.
    fake.show(0, "waiting", "OOMKilled")
    assert kills.take() == ["helm-controller"]
    fake.show(1, "running", "OOMKilled")
    assert kills.take() == []
    fake.show(2, "waiting", "OOMKilled")
    assert kills.take() == ["helm-controller"] * 2


def test_ends_for_other_reasons_do_not_count() -> None:
    fake = FakeClient(0, "waiting", "Error")
    kills = OomKills(client(fake))
    assert kills.take() == []
    fake.show(1, "waiting", "OOMKilled")
    assert kills.take() == ["helm-controller"]


def test_a_pod_in_place_of_another_counts_anew() -> None:
    fake = FakeClient(3, "running", "OOMKilled")
    kills = OomKills(client(fake))
    assert kills.take() == ["helm-controller"] * 3
    fake.show(1, "running", "OOMKilled", uid="2")
    assert kills.take() == ["helm-controller"]


def test_a_running_controller_is_a_process_with_memory_that_can_be_killed() -> None:
    program = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        # Until then it has hardly any memory.
        process.stdout.readline()
        running = client(FakeClient(0, "running", pid=process.pid))
        [found] = controller_processes(running)
        assert found.name == "helm-controller"
        assert 0 < found.memory("RssAnon") < found.memory("VmRSS")
        kill_controllers(running)
        assert process.wait(30) == -signal.SIGKILL
        assert found.memory("VmRSS") == 0
    finally:
        process.kill()
        process.communicate()


def test_a_controller_that_waits_for_its_restart_is_no_process() -> None:
    assert list(controller_processes(client(FakeClient(0, "waiting", "OOMKilled")))) == []
