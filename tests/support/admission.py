"""Continuous requests while Kyverno is disturbed, and what admission refused to controllers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dev.lab.logs import logs
from flux_tenancy.components.cluster.client import ClusterUnavailable, refusal
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from tests.support.lab import Lab, Loop, RunningCluster

Manifest = dict[str, Any]

# The API server sends requests on connections that it has open already, and does not repeat one whose connection is
# closed meanwhile. Go's client says so in the words of what it was about: reading the answer, or writing the request
# (of more than 4 KiB; a smaller one it does repeat).
CONNECTION_CLOSED = (": EOF", ": use of closed network connection", ": connection reset by peer", ": broken pipe")

# Whose requests admission must not refuse, by the name of the log.
CONTROLLERS = ("flux-system/", "kyverno/", "kube-controller-manager", "kube-scheduler", "node-agent")
# In the words of the API server.
REFUSED = re.compile(r"admission webhook .* denied the request|denied request: |failed calling webhook")


def refused_to_controllers(lab: Lab, cluster: RunningCluster) -> list[str]:
    """What admission refused to a cluster's controllers, as their logs have it."""
    asking = tuple(f"{cluster.name}/{name}" for name in CONTROLLERS)
    paths = [log.path for log in logs(lab.settings) if log.name.startswith(asking)]
    return [line for path in paths for line in path.read_text().splitlines() if REFUSED.search(line)]


class Asking(Loop):
    """Dry-run creates, a legitimate one and an attempt in turns, some ten of each a second.

    Attributes:
        failed: why legitimate requests were refused.
        cut_off: how many legitimate requests were lost with a connection that Kyverno closed as they came in.
        passed: how often an attempt was not refused.
    """

    pause = 0.05

    def __init__(self, cluster: RunningCluster, path: str, legitimate: Manifest, attempt: Manifest) -> None:
        super().__init__()
        config = ClusterConfig(kubeconfig=str(cluster.kubeconfig), context=cluster.name)
        self._api = connect(config, Path())
        self._path, self._legitimate, self._attempt = path, legitimate, attempt
        self.failed: list[str] = []
        self.cut_off = 0
        self.passed = 0

    def once(self) -> None:
        if (reason := self._ask(self._legitimate)) is not None:
            if reason.endswith(CONNECTION_CLOSED):
                self.cut_off += 1
            else:
                self.failed.append(reason)
        self.passed += self._ask(self._attempt) is None

    def _ask(self, manifest: Manifest) -> str | None:
        try:
            return refusal(self._api, self._path, manifest)
        except ClusterUnavailable as error:
            return str(error)
