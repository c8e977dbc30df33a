"""A real API server without controllers, which starts in seconds and to which nobody else writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.lab.build import ensure
from dev.lab.control_plane import APISERVER, ETCD, NODE_NAME, ControlPlane, Network
from dev.lab.free_ports import free_port_base
from dev.lab.kubeconfig import write_kubeconfig
from dev.lab.pki import API_AUTHORITY
from dev.lab.processes import Daemon, bring_up, is_free, stop_all
from dev.lab.settings import Settings
from tests.support.api_client import ApiClient

_TIMEOUT = 60.0


@dataclass(frozen=True)
class ApiServer:
    """A running API server.

    Attributes:
        kubeconfig: of an administrator.
        client: that administrator's.
    """

    kubeconfig: Path
    client: ApiClient


@contextmanager
def api_server(folder: Path, *arguments: str, program: str = APISERVER) -> Iterator[ApiServer]:
    """An etcd and an API server during the block.

    Args:
        folder: of their files.
        arguments: further arguments of the API server.
        program: the tool that is the API server.
    """
    tools = ensure(Settings.load(), [ETCD, program])
    plane = ControlPlane(folder, Network(free_port_base(0)))
    plane.pki.renew()
    authority, admin = plane.pki.pair(API_AUTHORITY).certificate, plane.pki.pair("admin")
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, NODE_NAME, plane.network.server, authority, admin)
    client = ApiClient(kubeconfig)
    ready = {ETCD: lambda: not is_free(plane.network.ports(ETCD)[0]), APISERVER: client.is_ready}
    etcd, server = (
        Daemon(
            name=part,
            log=folder / f"{part}.log",
            pid_file=folder / f"{part}.pid",
            ports=plane.network.ports(part),
            ready=is_ready,
        )
        for part, is_ready in ready.items()
    )
    commands = {
        etcd: plane.command(ETCD, tools[ETCD]),
        server: (*plane.command(APISERVER, tools[program]), *arguments),
    }
    bring_up([commands], _TIMEOUT)
    try:
        yield ApiServer(kubeconfig, client)
    finally:
        client.close()
        stop_all([etcd, server])
