"""Where Flux's controllers listen, seen on an address that is not a loopback address.

The pods of the lab have loopback addresses, which Go sends to no proxy. So these tests start the real controllers once
more, as the stack's Deployments describe them, with an address of this machine as the pod's.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from lab.free_ports import free_port_base
from tests.e2e.manifests import git_repository, kustomization
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.own_address import own_address

LISTENERS = {
    "source-controller": {"metrics-addr", "health-addr", "storage-addr"},
    "kustomize-controller": {"metrics-addr", "health-addr"},
    "helm-controller": {"metrics-addr", "health-addr"},
    "notification-controller": {"metrics-addr", "health-addr", "events-addr", "receiverAddr"},
}
LISTENER = re.compile(r"--(?P<flag>[\w-]+)=(?P<host>.*):(?P<port>\d+)")
# One worker of the second instance finds nothing to do in this namespace.
EMPTY = "kube-public"


@pytest.fixture
def address() -> str:
    found = own_address()
    if found is None:
        pytest.skip("this machine has only loopback addresses")
    return found


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
    """A further instance of a controller; yields its ports by flag, which are others than the pod's."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    address_of_pod = {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    assert address_of_pod in container["env"]
    name, _, tag = container["image"].rpartition("/")[2].partition(":")
    free = iter(range(free_port_base(1), 65535))
    ports: dict[str, int] = {}
    arguments = []
    for argument in container["args"]:
        found = LISTENER.fullmatch(argument)
        if found and "//" not in argument:
            ports[found["flag"]] = next(free)
            argument = f"--{found['flag']}={found['host']}:{ports[found['flag']]}"
        arguments.append(argument.replace("$(POD_IP)", address).replace("=/data", f"={folder}"))
    arguments += ["--enable-leader-election=false", "--watch-all-namespaces=false"]
    env = os.environ | {"KUBECONFIG": str(environment.cluster.kubeconfig), "RUNTIME_NAMESPACE": EMPTY}
    with (
        (folder / f"{name}.log").open("wb") as log,
        subprocess.Popen([lab.tools[f"{name}@{tag}"], *arguments], env=env, stdout=log, stderr=log) as process,
    ):
        try:
            yield ports
        finally:
            process.terminate()


@pytest.mark.parametrize("controller", LISTENERS)
def test_the_ports_of_a_controller_answer_at_the_pods_address_and_not_on_loopback(
    lab: Lab, production_stack: Environment, address: str, controller: str, tmp_path: Path
) -> None:
    deployment = production_stack.cluster.get("deployment", controller, "flux-system")

    with started(lab, production_stack, deployment, address, tmp_path) as ports:
        assert set(ports) == LISTENERS[controller]
        for flag, port in ports.items():
            eventually(partial(answers, address, port), what=f"--{flag}")
            assert not answers("127.0.0.1", port), flag
            assert not answers("::1", port), flag


def test_a_build_that_names_a_controllers_own_port_keeps_no_other_waiting(
    lab: Lab, staging_stack: Environment, address: str, tmp_path: Path
) -> None:
    """The controller builds one at a time, and a profile takes as long as its URL says."""
    cluster, minute = staging_stack.cluster, 60
    deployment = cluster.get("deployment", "kustomize-controller", "flux-system")
    with started(lab, staging_stack, deployment, address, tmp_path) as ports:
        port = ports["metrics-addr"]
        eventually(partial(answers, address, port))
        profile = f"http://{address}:{port}/debug/pprof/profile?seconds="
        assert httpx.get(f"{profile}1", trust_env=False).is_success
        files = {"staging/kustomization.yaml": f"resources: ['{profile}{minute}']\n"}
        cluster.apply(git_repository("profiling", lab.repository("mallory", "profiling", files, tmp_path)))
        eventually(lambda: cluster.ready("gitrepository", "profiling", "apps")[0] == "True")
        try:
            began = monotonic()
            cluster.apply(kustomization("profiling", source="profiling"))
            message = cluster.refusal("kustomization", "profiling", "apps", saying="kustomize build failed")
            request = "reconcile.fluxcd.io/requestedAt=while-another-builds"
            cluster.kubectl("annotate", "kustomization", "dev-team", "-n", "apps", "--overwrite", request)
            eventually(
                lambda: (
                    cluster.get("kustomization", "dev-team", "apps")["status"].get("lastHandledReconcileAt")
                    == "while-another-builds"
                )
            )
            took = monotonic() - began
        finally:
            for kind in ("kustomization", "gitrepository"):
                cluster.kubectl("delete", kind, "profiling", "-n", "apps", "--ignore-not-found")

    assert "proxyconnect tcp: dial tcp 127.0.0.1:9: connect: connection refused" in message
    assert took < minute
