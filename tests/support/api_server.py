"""A real API server without controllers, which starts in seconds and to which nobody else writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dev.lab.control_plane import APISERVER, ETCD, NODE_NAME, ControlPlane, Network
from dev.lab.kubeconfig import write_kubeconfig
from dev.lab.pki import API_AUTHORITY
from dev.lab.processes import Daemon, bring_up, is_free, stop_all
from tests.support.api_client import ApiClient

TOOLS = (ETCD, APISERVER)
_TIMEOUT = 60.0


class ApiServer:
    """An etcd and an API server.

    Args:
        folder: of its files.
        first_port: the first of its ports.
        arguments: further arguments of the API server.

    Attributes:
        kubeconfig: of an administrator.
        client: that administrator's; there is one from the start on.
    """

    client: ApiClient

    def __init__(self, folder: Path, first_port: int, *arguments: str) -> None:
        self._arguments = {APISERVER: arguments}
        self._plane = ControlPlane(folder, Network(first_port))
        self.kubeconfig = folder / "kubeconfig"

    def start(self, tools: Mapping[str, Path]) -> None:
        plane = self._plane
        plane.pki.renew()
        admin = plane.pki.pair("admin")
        authority = plane.pki.pair(API_AUTHORITY).certificate
        write_kubeconfig(self.kubeconfig, NODE_NAME, plane.network.server, authority, admin)
        self.client = ApiClient(self.kubeconfig)
        self._daemons = {part: self._daemon(part) for part in TOOLS}
        commands = {
            daemon: (*plane.command(part, tools[part]), *self._arguments.get(part, ()))
            for part, daemon in self._daemons.items()
        }
        bring_up([commands], _TIMEOUT)

    def stop(self) -> None:
        self.client.close()
        stop_all(list(self._daemons.values()))

    def _daemon(self, part: str) -> Daemon:
        folder, ports = self._plane.folder, self._plane.network.ports(part)
        return Daemon(
            name=part,
            log=folder / f"{part}.log",
            pid_file=folder / f"{part}.pid",
            ports=ports,
            ready=self.client.is_ready if part == APISERVER else lambda: not is_free(ports[0]),
        )
