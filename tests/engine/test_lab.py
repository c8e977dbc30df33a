"""What the lab promises its user, with real processes and its own commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from dev.lab.cluster import Cluster
from dev.lab.control_plane import NODE_AGENT, NODE_NAME
from dev.lab.files import write_file
from dev.lab.processes import Daemon
from tests.support.lab import Lab, RunningCluster, eventually

NAME = "spare"
SLICES = "endpointslice-controller"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    with lab.cluster(NAME):
        yield Cluster(lab.settings, NAME)


@pytest.fixture
def spare(lab: Lab, cluster: Cluster) -> Cluster:
    """A cluster that a test may treat badly; what it stops is started again for the next."""
    cluster.up(lab.tools)
    return cluster


def command(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m dev.lab …` on the test's lab."""
    settings = lab.settings
    environ = os.environ | {"LAB_STATE": str(settings.state), "LAB_PORT_BASE": str(settings.port_base)}
    return subprocess.run(
        [sys.executable, "-m", "dev.lab", *arguments],
        cwd=settings.project,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def pid(daemon: Daemon) -> int:
    """The id of a daemon's process, which has to run."""
    process = daemon.process()
    assert process is not None, f"{daemon.name} does not run"
    return process.pid


def test_a_killed_cluster_recovers_with_its_state(lab: Lab, spare: Cluster) -> None:
    running = RunningCluster.of(spare)
    running.kubectl("create", "configmap", "kept", "-n", "default")
    for daemon in spare.daemons().values():
        os.kill(pid(daemon), signal.SIGKILL)

    spare.up(lab.tools)

    assert running.get("configmap", "kept", "default")
    assert running.kubectl("get", "--raw", "/readyz").stdout == "ok"


def test_env_puts_pulumi_kubectl_and_sops_into_a_shell(lab: Lab, spare: Cluster) -> None:
    exports = command(lab, "env").stdout
    script = f"{exports}\npulumi version && sops --version && kubectl --context {NAME} get --raw /readyz"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env={"PATH": os.defpath})
    assert done.returncode == 0, done.stderr
    assert "v3.276.0" in done.stdout and done.stdout.endswith("ok")


def test_a_crashing_controller_fails_as_on_any_cluster_with_its_log_at_hand(lab: Lab, spare: Cluster) -> None:
    running = RunningCluster.of(spare)
    controller = next(name for name in lab.tools if name.startswith("kustomize-controller@"))
    image = f"ghcr.io/fluxcd/{controller.replace('@', ':')}"
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: crash, namespace: default}\nspec:\n"
        f"  containers: [{{name: manager, image: '{image}', args: [--no-such-flag]}}]\n"
    )
    running.kubectl("apply", "-f", "-", stdin=pod)

    def crashed() -> bool:
        found = running.find("pod", "crash", "default") or {}
        states = [status["state"] for status in found.get("status", {}).get("containerStatuses", ())]
        return any(state.get("waiting", {}).get("reason") == "CrashLoopBackOff" for state in states)

    eventually(crashed, what="the crash loop")
    assert "unknown flag: --no-such-flag" in running.kubectl("logs", "crash", "-n", "default").stdout
    assert "unknown flag: --no-such-flag" in command(lab, "logs", "crash").stdout
    running.kubectl("delete", "pod", "crash", "-n", "default")


def test_the_kernel_enforces_the_limits_of_a_container(lab: Lab, spare: Cluster) -> None:
    if warning := spare.warning:
        pytest.skip(warning)
    table = spare.folder / "images.json"
    images = json.loads(table.read_text())["images"]
    images.append({"image": "registry.example/shell:1", "binary": "/bin/sh"})
    write_file(table, json.dumps({"images": images}))
    running = RunningCluster.of(spare)
    resources = {"limits": {"memory": "64Mi"}}
    # Without a line, tail keeps all that it reads. If the kernel did not kill it, ulimit would end it.
    args = ["-c", "ulimit -v 262144; exec tail /dev/zero"]
    container = {"name": "app", "image": "registry.example/shell:1", "args": args, "resources": resources}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "greedy", "namespace": "default"}}
    running.apply(pod | {"spec": {"containers": [container], "restartPolicy": "Never"}})

    def ended() -> dict[str, Any]:
        [status] = running.get("pod", "greedy", "default")["status"].get("containerStatuses", [{"state": {}}])
        terminated: dict[str, Any] = status["state"].get("terminated", {})
        return terminated

    seen = eventually(ended, what="the end of the container")
    assert (seen["reason"], seen["exitCode"]) == ("OOMKilled", 137)
    uid = running.get("pod", "greedy", "default")["metadata"]["uid"]
    nodes = list(Path("/sys/fs/cgroup").rglob(f"flux-tenancy-127.0.0.1:{spare.daemons()[NODE_AGENT].ports[0]}"))
    assert nodes and not [group for node in nodes for group in node.glob(f"{uid}_*")]
    running.kubectl("delete", "pod", "greedy", "-n", "default")


def test_an_unknown_image_is_marked_as_simulated(lab: Lab, spare: Cluster) -> None:
    running = RunningCluster.of(spare)
    running.kubectl("run", "stand-in", "--image=registry.example/any:1", "-n", "default")

    def marked() -> bool:
        pod = running.find("pod", "stand-in", "default") or {"metadata": {}, "status": {}}
        return pod["status"].get("phase") == "Running" and "lab.flux-tenancy.dev/simulated" in pod["metadata"].get(
            "annotations", {}
        )

    eventually(marked, what="the mark")
    running.kubectl("delete", "pod", "stand-in", "-n", "default")


def test_no_event_shows_addresses_of_the_labs_pods(lab: Lab, spare: Cluster) -> None:
    """The API refuses loopback addresses in Endpoints and EndpointSlices; no event tells a tenant about it."""
    running = RunningCluster.of(spare)
    running.kubectl("create", "namespace", "served")
    running.kubectl("create", "service", "clusterip", "app", "--tcp=80", "-n", "served")
    # As long as no pod is ready, they have no address that could be refused.
    eventually(lambda: running.find("endpoints", "app", "served"), what="the Endpoints that Pulumi waits for")
    running.kubectl("run", "app", "--image=registry.example/any:1", "--labels=app=app", "-n", "served")
    log = spare.daemons()["kube-controller-manager"].log

    def tried() -> bool:
        """Whether both controllers wanted to tell of it."""
        rejected = [line for line in log.read_text().splitlines() if "Server rejected event" in line]
        here = [line for line in rejected if "served" in line]
        return all(any(f'logger="{name}"' in line for line in here) for name in ("endpoints-controller", SLICES))

    eventually(tried, what="the controllers' attempts")
    messages = [event["message"] for event in running.get("events", namespace="served")["items"]]
    assert not [message for message in messages if "loopback" in message]
    running.kubectl("delete", "namespace", "served", "--wait=false")


def of_node(cluster: Cluster) -> RunningCluster:
    """The cluster, as its node may use it."""
    return replace(RunningCluster.of(cluster), kubeconfig=cluster.folder / "pki" / f"{NODE_AGENT}.kubeconfig")


def test_a_node_has_the_rights_of_a_kubelet_and_no_more(lab: Lab, spare: Cluster) -> None:
    """What the Node authorizer and NodeRestriction allow on every cluster."""
    running, node = RunningCluster.of(spare), of_node(spare)
    mounts = {"volumes": [{"name": "own", "secret": {"secretName": "own"}}]}
    for name in ("own", "others"):
        running.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}})
    container = {"name": "app", "image": "registry.example/any:1"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mounts", "namespace": "default"}}
    running.apply(pod | {"spec": {"containers": [container], **mounts}})
    eventually(lambda: running.get("pod", "mounts", "default")["status"].get("phase") == "Running")

    assert node.find("secret", "own", "default") and node.find("node", NODE_NAME)
    refused = (
        "get secret others -n default",
        "get secrets -n default",
        "get secrets --all-namespaces",
        "get pods --all-namespaces",
        "create token default -n default",
        "label pod mounts -n default a=b",
        f"taint node {NODE_NAME} a=b:NoSchedule",
        f"label node {NODE_NAME} node-restriction.kubernetes.io/a=b",
    )
    for command in refused:
        done = node.kubectl(*command.split())
        assert done.returncode != 0 and "is forbidden: " in done.stderr, f"{command}: {done.stdout}{done.stderr}"
    running.kubectl("delete", "pod", "mounts", "-n", "default")


def test_a_stranger_learns_only_the_version(lab: Lab, spare: Cluster) -> None:
    server = f"https://127.0.0.1:{spare.daemons()['kube-apiserver'].ports[0]}"
    with httpx.Client(base_url=server, verify=False, trust_env=False) as stranger:
        assert stranger.get("/version").is_success
        refused = stranger.get("/api/v1/namespaces")
    assert refused.status_code == 403 and 'User "system:anonymous"' in refused.json()["message"]
