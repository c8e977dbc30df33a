"""A lab in addition to the user's: own state, own ports, the same tools."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, TypeVar

from dev.lab.build import ensure, tools_for
from dev.lab.cluster import Cluster
from dev.lab.control_plane import APISERVER, CONTROLLER_MANAGER, SCHEDULER
from dev.lab.free_ports import free_port_base
from dev.lab.git_host import GitHost
from dev.lab.pulumi import LabPulumi
from dev.lab.settings import Settings
from dev.lab.tools_table import Purpose
from tests.support.releases import FLUX_VERSION, KUBERNETES_VERSION

T = TypeVar("T")

SUPERSEDED = "New reconciliation triggered by "
"""How a message of Flux begins that a newer revision has ended a wait for health."""
CONTROL_PLANE = (APISERVER, CONTROLLER_MANAGER, SCHEDULER)
"""The components of a cluster that are of its version of Kubernetes."""
KUBECTL = Path(sysconfig.get_path("scripts"), "kubectl")
CLUSTERS = 8
"""Clusters that a test's lab has ports for; each is gone when its tests are done."""

POLL_SECONDS = 0.5


def eventually(
    look: Callable[[], T | None], timeout: float = 60.0, what: str = "", interval: float = POLL_SECONDS
) -> T:
    """What `look` returns as soon as it is true; the test fails with the last value when it stays false."""
    deadline = time.monotonic() + timeout
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what or look} not seen within {timeout} s; last: {found!r}"
        time.sleep(interval)
    return found


def ready(found: dict[str, Any]) -> tuple[str, str]:
    """Status and message of the Ready condition of an object of Flux; `Unknown` for one of an older generation."""
    for condition in found.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready" and condition["observedGeneration"] == found["metadata"]["generation"]:
            return condition["status"], condition["message"]
    return "Unknown", ""


@dataclass(frozen=True)
class RunningCluster:
    """A cluster of the test's lab, running."""

    name: str
    kubeconfig: Path
    webhook_url: str

    @classmethod
    def of(cls, cluster: Cluster) -> RunningCluster:
        return cls(cluster.name, cluster.kubeconfig, cluster.webhook_url)

    def kubectl(
        self, *arguments: str, user: str | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl, as another user where one is named."""
        command = [
            str(KUBECTL),
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            *([f"--as={user}"] if user else []),
        ]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def get(self, kind: str, name: str = "", namespace: str | None = None) -> dict[str, Any]:
        """An object, or the list of them without a name; it has to be there."""
        found = self.find(kind, name, namespace)
        assert found is not None, f"{kind} {name} not found"
        return found

    def find(self, kind: str, name: str = "", namespace: str | None = None) -> dict[str, Any] | None:
        """An object, or None where there is none."""
        where = ["--all-namespaces"] if namespace is None and not name else ["-n", namespace] if namespace else []
        done = self.kubectl("get", kind, *([name] if name else []), *where, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def apply(self, manifest: dict[str, Any]) -> None:
        done = self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))
        assert done.returncode == 0, done.stderr

    def create(self, manifest: dict[str, Any], *options: str, user: str | None = None) -> str:
        """Create an object; returns what the API server says against it or warns of."""
        return self.kubectl("create", "-f", "-", *options, user=user, stdin=json.dumps(manifest)).stderr

    def reconcile(self, kind: str, name: str, namespace: str) -> str:
        """Ask Flux to look now, as `flux reconcile` does; returns the request, which Flux copies to the status."""
        asked = str(time.time_ns())
        request = f"reconcile.fluxcd.io/requestedAt={asked}"
        self.kubectl("annotate", "--overwrite", kind, name, "-n", namespace, request)
        return asked

    def reconciled(self, kind: str, name: str, namespace: str, timeout: float = 60.0) -> None:
        """Ask Flux to look now, and wait until it has."""
        asked = self.reconcile(kind, name, namespace)

        def handled() -> bool:
            status = self.get(kind, name, namespace).get("status", {})
            return bool(status.get("lastHandledReconcileAt") == asked)

        eventually(handled, timeout=timeout, what=f"{kind} {namespace}/{name} as requested")

    def ready(self, kind: str, name: str, namespace: str) -> tuple[str, str]:
        """Status and message of an object's Ready condition; `Unknown` where there is no such object."""
        return ready(self.find(kind, name, namespace) or {})

    def refusal(self, kind: str, name: str, namespace: str, saying: str = "") -> str:
        """The message of an object that is refused, as its owner sees it.

        Args:
            kind: of the object.
            name: of the object.
            namespace: of the object.
            saying: what the message holds; before it, Flux may say that the source has not been fetched yet.
        """

        def refused() -> str:
            status, message = self.ready(kind, name, namespace)
            return message if status == "False" and saying in message else ""

        return eventually(refused, what=f"refusal of {kind} {namespace}/{name}")


class Loop:
    """What is done again and again beside a block, until its end.

    Attributes:
        pause: seconds before each round.
        rounds: how often it was done.
    """

    pause = 0.0

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.rounds = 0

    def once(self) -> None:
        """One round."""
        raise NotImplementedError

    def _run(self) -> None:
        while not self._stop.wait(self.pause):
            self.once()
            self.rounds += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Reconciling(Loop):
    """Makes Flux look at an object again and again, and keeps what it says.

    Attributes:
        failures: the messages of all rounds in which it was not ready.
    """

    def __init__(self, cluster: RunningCluster, kind: str, name: str, namespace: str) -> None:
        super().__init__()
        self._cluster, self._object = cluster, (kind, name, namespace)
        self.failures: set[str] = set()

    def once(self) -> None:
        self._cluster.reconcile(*self._object)
        status, message = self._cluster.ready(*self._object)
        # This loop's own next round ends the wait for health of the one before.
        if status == "False" and not message.startswith(SUPERSEDED):
            self.failures.add(message)


class Lab:
    """The lab of one process of a test session."""

    def __init__(self, state: Path, purpose: Purpose, clusters: int = CLUSTERS) -> None:
        self.settings = replace(Settings.load(), state=state, port_base=free_port_base(clusters))
        self.tools = ensure(self.settings, tools_for(self.settings, purpose))
        self.git = GitHost(self.settings)
        self.pulumi = LabPulumi(self.settings)
        try:
            self.start_git_host()
            self.pulumi.install()
        except BaseException:
            self.git.stop()
            raise

    def start_git_host(self) -> None:
        """Start it, or start it again after a test has stopped it."""
        self.git.up(self.tools)

    @contextmanager
    def cluster(self, name: str, kubernetes: str = KUBERNETES_VERSION) -> Iterator[RunningCluster]:
        """A new cluster, whose control plane may be of an older version; it is removed after the block."""
        cluster = Cluster(self.settings, name)
        older = {} if kubernetes == KUBERNETES_VERSION else {part: f"{part}@v{kubernetes}" for part in CONTROL_PLANE}
        try:
            cluster.up(self.tools | {part: self.tools[tool] for part, tool in older.items()})
            yield RunningCluster.of(cluster)
        finally:
            cluster.stop()
            shutil.rmtree(cluster.folder, ignore_errors=True)

    def bundle(self, version: str = FLUX_VERSION) -> dict[str, Any]:
        """The keys of the `flux` section that name a release; the newest that the lab builds by default."""
        return self._release("flux-bundle", version, "manifests")

    def kyverno_chart(self, version: str) -> dict[str, Any]:
        """The keys of the `kyverno` section that name a release."""
        return self._release("kyverno-chart", version, "chart")

    def capsule_chart(self, version: str) -> dict[str, Any]:
        """The keys of the `capsule` section that name a release."""
        return self._release("capsule-chart", version, "chart")

    def _release(self, tool: str, version: str, key: str) -> dict[str, Any]:
        path = self.tools[f"{tool}-{version}"]
        return {"version": version, "sha256": sha256(path.read_bytes()).hexdigest(), key: {"bundle": str(path)}}

    def repository(
        self, organization: str, name: str, files: dict[str, str], folder: Path, private: bool = False
    ) -> str:
        """Create a repository with these files; returns its URL for plain HTTP."""
        source = folder / organization / name
        for path, text in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        self.git.ensure_repository(organization, name, source, private)
        return self.git.url(organization, name)

    def stop(self) -> None:
        self.pulumi.stop()
        for folder in (self.settings.state / "clusters").glob("*"):
            Cluster(self.settings, folder.name).stop()
        self.git.stop()
