"""A real Kubernetes cluster as processes on loopback, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from dev.lab.control_plane import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    NODE_AGENT,
    NODE_NAME,
    SCHEDULER,
    STAGES,
    USERS,
    ControlPlane,
    Network,
)
from dev.lab.errors import LabError
from dev.lab.events import SILENT_CONTROLLERS, without_events
from dev.lab.files import check_room, delete_folder, locked, make_folder, write_file
from dev.lab.images import write_images
from dev.lab.kubeconfig import write_kubeconfig
from dev.lab.node import is_ready, unlimited_because
from dev.lab.pki import API_AUTHORITY, INTERNAL_AUTHORITY
from dev.lab.probe import probe
from dev.lab.processes import LOOPBACK, Daemon, bring_up, stop_all
from dev.lab.settings import HIGHEST_INDEX, PORTS_EACH, Settings

_KNOWN_INDEXES = {"staging": 1, "production": 2}

_START_TIMEOUT = 60.0
"""Seconds within which a cluster is ready, or its start has failed."""

_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Cluster:
    """One cluster of the lab; creating the object starts nothing.

    Attributes:
        name: a DNS label; also the name of its context in the kubeconfig.
        folder: its part of the state.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        """
        Raises:
            LabError: ``name`` is not a DNS label.
        """
        if not _DNS_LABEL.fullmatch(name):
            raise LabError(
                f"{name!r} is not a valid name of a cluster",
                "use up to 63 lowercase letters, digits and hyphens, with a letter or digit at both ends",
            )
        self.name = name
        self.folder = _clusters_folder(settings) / name
        self._settings = settings

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, written by ``up``; its only context has the cluster's name."""
        return self.folder / "kubeconfig"

    @property
    def pod_logs(self) -> Path:
        """Folder with the logs of the node agent's pods, ``<namespace>_<pod>_<container>.log``."""
        return self.folder / "logs" / "pods"

    @property
    def webhook_url(self) -> str:
        """URL of Flux's webhook receiver for the Git host, without a trailing slash; known before it exists."""
        return f"http://{LOOPBACK}:{self._plane.network.webhook_receiver}"

    @property
    def warning(self) -> str | None:
        """What the running cluster does not do on this machine, in a sentence; None if there is nothing to say."""
        node = self._node() if self.exists() else None
        reason = unlimited_because(node) if node else None
        return f"Cluster {self.name} does not enforce memory and CPU limits: {reason}" if reason else None

    def exists(self) -> bool:
        """Whether the cluster was created, running or not."""
        return self.kubeconfig.exists()

    def daemons(self) -> dict[str, Daemon]:
        """The cluster's processes, running or not, by the name of the component, in the order of their start."""
        network = self._plane.network
        ready: dict[str, Callable[[], object]] = {
            ETCD: partial(self._ask, network.etcd_client, "/readyz", "etcd-client", INTERNAL_AUTHORITY),
            APISERVER: partial(self._ask, network.apiserver, "/readyz"),
            CONTROLLER_MANAGER: partial(self._ask, network.controller_manager, "/healthz"),
            SCHEDULER: partial(self._ask, network.scheduler, "/healthz"),
            NODE_AGENT: self._node_is_ready,
        }
        return {
            part: Daemon(
                name=f"{self.name}/{part}",
                log=self.folder / "logs" / f"{part}.log",
                pid_file=self.folder / "run" / f"{part}.pid",
                ports=network.ports(part),
                ready=ready[part],
            )
            for stage in STAGES
            for part in stage
        }

    def up(self, tools: Mapping[str, Path]) -> None:
        """Start what is not running, and wait until the cluster's API and its node are ready.

        Args:
            tools: path of each tool by its name: the cluster's components, and the controllers whose images its node
                can run (``<name>@<version>``).

        Raises:
            LabError: a port is in use, the state cannot be written, or a component does not get ready.
        """
        if not self.exists():
            check_room(self._settings.state)
        with locked(self._settings.state / "lock"):
            self._prepare(tools)
            daemons = self.daemons()
            stages = [{daemons[part]: self._plane.command(part, tools[part]) for part in stage} for stage in STAGES]
            bring_up(stages, _START_TIMEOUT)
            self._silence_controllers()

    def stop(self) -> None:
        """Stop the cluster's processes; its state stays."""
        with locked(self._settings.state / "lock"):
            self._stop()

    def delete(self) -> None:
        """Stop the cluster's processes and delete its state.

        Raises:
            LabError: something in it cannot be deleted.
        """
        with locked(self._settings.state / "lock"):
            self._stop()
            delete_folder(self.folder)

    def _stop(self) -> None:
        stop_all(list(self.daemons().values()))

    def _prepare(self, tools: Mapping[str, Path]) -> None:
        """Write the files that the processes read: certificates, kubeconfigs, images."""
        plane = self._plane
        write_file(self._record, json.dumps({"index": self._index()}))
        if not plane.pki.is_usable():
            self._stop()
            plane.pki.renew()
        authority = plane.pki.pair(API_AUTHORITY).certificate
        users = {user: plane.kubeconfig(user) for user in USERS}
        for user, path in (*users.items(), ("admin", self.kubeconfig)):
            write_kubeconfig(path, self.name, plane.network.server, authority, plane.pki.pair(user))
        make_folder(plane.pods)
        write_images(plane.images, tools)

    @property
    def _record(self) -> Path:
        return self.folder / "cluster.json"

    @property
    def _plane(self) -> ControlPlane:
        index = self._index()
        return ControlPlane(self.folder, Network(self._settings.port_base + PORTS_EACH * index))

    def _index(self) -> int:
        """The recorded index, or the one that a new cluster gets."""
        taken = {other.name: _recorded_index(other) for other in _folders(self._settings)}
        own = taken.pop(self.name, None) or _KNOWN_INDEXES.get(self.name)
        if own is not None:
            return own
        reserved = {*taken.values(), *_KNOWN_INDEXES.values()}
        free = next((index for index in range(1, HIGHEST_INDEX + 1) if index not in reserved), None)
        if free is None:
            raise LabError(f"there are {HIGHEST_INDEX} clusters already", "`make down STACK=…` deletes one of them")
        return free

    def _node_is_ready(self) -> bool:
        network = self._plane.network
        # The API reports a node as ready for a while after its agent has died.
        if not self._ask(network.node_agent, "/healthz", "kubelet-client"):
            return False
        node = self._node()
        return node is not None and is_ready(node)

    def _node(self) -> dict[str, Any] | None:
        """The Node object; None if the API server does not answer."""
        found = self._ask(self._plane.network.apiserver, f"/api/v1/nodes/{NODE_NAME}")
        return found.json() if found else None

    def _silence_controllers(self) -> None:
        """Remove the right to write events from some controllers; if that fails, the next start does it."""
        port = self._plane.network.apiserver
        for name in SILENT_CONTROLLERS:
            path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
            found = self._ask(port, path)
            if found and (role := without_events(found.json())):
                self._ask(port, path, new=role)

    def _ask(
        self,
        port: int,
        path: str,
        user: str = "admin",
        authority: str = API_AUTHORITY,
        new: dict[str, Any] | None = None,
    ) -> httpx.Response | None:
        """A successful response of a component of the cluster, or None.

        Args:
            new: replaces the object at the path; without it, the object is read.
        """
        pki = self._plane.pki
        return probe(f"https://{LOOPBACK}:{port}{path}", pki.pair(authority).certificate, pki.pair(user), new)


def clusters(settings: Settings) -> list[Cluster]:
    """All clusters in the state, running or not, complete or not, in the order of their index."""
    return [Cluster(settings, folder.name) for folder in _folders(settings)]


def _clusters_folder(settings: Settings) -> Path:
    return settings.state / "clusters"


def _folders(settings: Settings) -> list[Path]:
    found = [path for path in _clusters_folder(settings).glob("*") if path.is_dir()]
    named = [path for path in found if _DNS_LABEL.fullmatch(path.name)]
    return sorted(named, key=lambda path: (_recorded_index(path) or HIGHEST_INDEX + 1, path.name))


def _recorded_index(folder: Path) -> int | None:
    """The index of a cluster; None if the file is missing or damaged."""
    try:
        index = json.loads((folder / "cluster.json").read_text())["index"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return index if index in range(1, HIGHEST_INDEX + 1) else None
