"""Flux's controllers on an address that is not a loopback address.

The pods of the lab have loopback addresses, which Go sends to no proxy. So tests start the real controllers once more,
as the stack's Deployments describe them, with an address of this machine as the pod's.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dev.lab.free_ports import free_port_base
from tests.support.environment import Environment
from tests.support.lab import Lab

# For documentation, so nothing is there; a datagram socket sends nothing when it is connected.
_ELSEWHERE = ("192.0.2.1", 9)
_LISTENER = re.compile(r"--(?P<flag>[\w-]+)=(?P<host>.*):(?P<port>\d+)")
# One worker of the second instance finds nothing to do in this namespace.
_EMPTY = "kube-public"


def own_address() -> str:
    """The address from which this machine would connect to others; a test fails without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            address: str = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    assert not address.startswith("127."), (
        "this machine has only loopback addresses; add another with `ip address add 192.0.2.2/24 dev lo`"
    )
    return address


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


@contextmanager
def started(
    lab: Lab, environment: Environment, deployment: Mapping[str, Any], address: str, folder: Path
) -> Iterator[dict[str, int]]:
    """A further instance of a controller; yields its ports by flag, which are others than the pod's.

    Args:
        lab: has the controllers' programs.
        environment: the stack in whose cluster it looks.
        deployment: the controller's Deployment.
        address: the address of its pod.
        folder: for its files and its log.
    """
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    address_of_pod = {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    assert address_of_pod in container["env"]
    name, _, tag = container["image"].rpartition("/")[2].partition(":")
    free = iter(range(free_port_base(1), 65535))
    ports: dict[str, int] = {}
    arguments = []
    for argument in container["args"]:
        found = _LISTENER.fullmatch(argument)
        if found and "//" not in argument:
            ports[found["flag"]] = next(free)
            argument = f"--{found['flag']}={found['host']}:{ports[found['flag']]}"
        arguments.append(argument.replace("$(POD_IP)", address).replace("=/data", f"={folder}"))
    arguments += ["--enable-leader-election=false", "--watch-all-namespaces=false"]
    env = os.environ | {"KUBECONFIG": str(environment.cluster.kubeconfig), "RUNTIME_NAMESPACE": _EMPTY}
    with (
        (folder / f"{name}.log").open("wb") as log,
        subprocess.Popen([lab.tools[f"{name}@{tag}"], *arguments], env=env, stdout=log, stderr=log) as process,
    ):
        try:
            yield ports
        finally:
            process.terminate()
