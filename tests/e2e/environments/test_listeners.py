"""Where Flux's controllers listen, seen on an address that is not a loopback address."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import monotonic

import httpx
import pytest

from tests.e2e.manifests import git_repository, kustomization
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.listeners import answers, own_address, started

LISTENERS = {
    "source-controller": {"metrics-addr", "health-addr", "storage-addr"},
    "kustomize-controller": {"metrics-addr", "health-addr"},
    "helm-controller": {"metrics-addr", "health-addr"},
    "notification-controller": {"metrics-addr", "health-addr", "events-addr", "receiverAddr"},
}


@pytest.mark.parametrize("controller", LISTENERS)
def test_the_ports_of_a_controller_answer_at_the_pods_address_and_not_on_loopback(
    lab: Lab, production_stack: Environment, controller: str, tmp_path: Path
) -> None:
    address = own_address()
    deployment = production_stack.cluster.get("deployment", controller, "flux-system")

    with started(lab, production_stack, deployment, address, tmp_path) as ports:
        assert set(ports) == LISTENERS[controller]
        for flag, port in ports.items():
            eventually(partial(answers, address, port), what=f"--{flag}")
            assert not answers("127.0.0.1", port), flag
            assert not answers("::1", port), flag


def test_a_build_that_names_a_controllers_own_port_keeps_no_other_waiting(
    lab: Lab, staging_stack: Environment, tmp_path: Path
) -> None:
    """The controller builds one at a time, and a profile takes as long as its URL says."""
    cluster, minute, address = staging_stack.cluster, 60, own_address()
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
            cluster.reconciled("kustomization", "dev-team", "apps")
            took = monotonic() - began
        finally:
            for kind in ("kustomization", "gitrepository"):
                cluster.kubectl("delete", kind, "profiling", "-n", "apps", "--ignore-not-found")

    assert "proxyconnect tcp: dial tcp 127.0.0.1:9: connect: connection refused" in message
    assert took < minute
