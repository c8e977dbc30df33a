"""Kyverno on its own cluster under continuous requests: installed, disturbed, upgraded and removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.installs.kyverno import admission_memory
from flux_tenancy.components.vocabulary.manifests import parse_quantity
from tests.support.admission import Asking
from tests.support.environment import Environment
from tests.support.killing import kill_at
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.largest_pod import SIZES, largest_pod
from tests.support.policy_cases import APPS, NAMESPACE_OBJECTS
from tests.support.project import Project

NAME, UPGRADED = "guarded", "guarded-upgrade"
ADMISSION = "deployment/kyverno-admission-controller"
SERVICES = f"/api/v1/namespaces/{APPS}/services"
WEBHOOK_KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
DRY_RUN = "--dry-run=server"
# Asked as often after the disturbance is over.
LAST_ROUNDS = 20


def service(kind: str) -> dict[str, Any]:
    metadata = {"name": "asked", "namespace": APPS}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"type": kind, "ports": [{"port": 80}]},
    }


LEGITIMATE, ATTEMPT = service("ClusterIP"), service("NodePort")


def kyverno(lab: Lab, version: str, **keys: Any) -> dict[str, Any]:
    return lab.kyverno_chart(version) | {"replicas": 2} | keys


@contextmanager
def guarded_by(lab: Lab, project: Project, name: str, version: str, killed: bool = False) -> Iterator[Environment]:
    """A cluster with a Kyverno, all its policies, and a tenant's namespace that is not the stack's.

    Where the first update is killed, that is in the middle of Helm's installation.
    """
    with lab.cluster(name) as cluster:
        environment = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle(),
            kyverno=kyverno(lab, version),
            # It alone: what it lets pass, nothing else refuses.
            policies={"engine": "kyverno"},
        )
        if killed:
            kill_at(lab, project, "up", name, "Release kyverno creating", lambda: pending(cluster))
            assert pending(cluster)
            refused = project.up(name)
            assert not refused.succeeded and "(FT-KYV-005)" in refused.text, refused.text
            cluster.kubectl("delete", "secret", "-n", "kyverno", "-l", "owner=helm,name=kyverno")
            recovered = project.run("up", "--yes", "--skip-preview", "--refresh", "--stack", name)
            assert recovered.succeeded, recovered.text
        else:
            environment.up()
        cluster.apply(NAMESPACE_OBJECTS[APPS])
        yield environment


def pending(cluster: RunningCluster) -> bool:
    """Whether Helm is installing, or has been killed at it."""
    selector = "owner=helm,name=kyverno,status=pending-install"
    return cluster.kubectl("get", "secrets", "-n", "kyverno", "-l", selector, "-o", "name").stdout != ""


@pytest.fixture(scope="module")
def guarded(lab: Lab, project: Project) -> Iterator[Environment]:
    with guarded_by(lab, project, NAME, "1.19.1", killed=True) as environment:
        yield environment


def asking(environment: Environment) -> Asking:
    return Asking(environment.cluster, SERVICES, LEGITIMATE, ATTEMPT)


def settle(loop: Asking, ended: int) -> None:
    """Ask on for a while, and see what all of it came to after so many pods have ended."""
    last = loop.rounds + LAST_ROUNDS
    eventually(lambda: loop.rounds >= last)
    assert (loop.failed, loop.passed) == ([], 0)
    assert loop.cut_off <= ended


def rolled_out(cluster: RunningCluster) -> None:
    done = cluster.kubectl("rollout", "status", "-n", "kyverno", ADMISSION, "--timeout=300s")
    assert done.returncode == 0, done.stderr


def pods(cluster: RunningCluster) -> set[str]:
    """Names of the admission controller's pods, those that end too."""
    found = cluster.get("pods", namespace="kyverno")["items"]
    return {item["metadata"]["name"] for item in found if "admission-controller" in item["metadata"]["name"]}


def admission_containers(cluster: RunningCluster) -> dict[str, dict[str, Any]]:
    """The status of the container of each pod of the admission controller."""
    found = cluster.get("pods", namespace="kyverno")["items"]
    named = {each["metadata"]["name"]: each["status"]["containerStatuses"][0] for each in found}
    return {name: each for name, each in named.items() if "admission-controller" in name}


def restarts(cluster: RunningCluster) -> dict[str, int]:
    return {name: each["restartCount"] for name, each in admission_containers(cluster).items()}


def most_memory(cluster: RunningCluster) -> int:
    """The highest resident memory in bytes that a process of the admission controller has had."""
    pids = [each["containerID"].removeprefix("process://") for each in admission_containers(cluster).values()]
    found = [re.search(r"VmHWM:\s+(\d+) kB", Path("/proc", pid, "status").read_text()) for pid in pids]
    return max(int(each[1]) * 1024 for each in found if each)


@pytest.mark.scenario
class TestKyverno:
    """Installed, disturbed and removed."""

    def test_kyverno_serves_after_the_update_and_a_second_one_changes_nothing(self, guarded: Environment) -> None:
        """So it does after an update that was killed in the middle of the installation."""
        assert guarded.outputs()["kyverno"] == {"version": "1.19.1"}
        assert guarded.cluster.create(LEGITIMATE, DRY_RUN) == ""
        assert "flux-tenancy-service-exposure" in guarded.cluster.create(ATTEMPT, DRY_RUN)
        assert guarded.changes() == {}

    def test_only_cluster_admins_may_write_policies_or_exceptions(self, guarded: Environment) -> None:
        for role in ("admin", "edit", "view"):
            rules = guarded.cluster.get("clusterrole", role)["rules"]
            assert not [rule for rule in rules if any("kyverno" in group for group in rule.get("apiGroups", ()))], role

    def test_webhooks_fail_closed_and_are_called_through_the_service(self, guarded: Environment) -> None:
        webhooks = [
            webhook
            for kind in WEBHOOK_KINDS
            for found in guarded.cluster.get(kind)["items"]
            for webhook in found.get("webhooks", ())
        ]

        assert {webhook["clientConfig"]["service"]["name"] for webhook in webhooks} == {"kyverno-svc"}
        # Kyverno looks at its own health by this one.
        open_ones = {webhook["name"] for webhook in webhooks if webhook["failurePolicy"] != "Fail"}
        assert open_ones == {"monitor-webhooks.kyverno.svc"}

    def test_the_largest_pods_in_parallel_do_not_end_kyverno_and_larger_ones_never_reach_it(
        self, guarded: Environment
    ) -> None:
        cluster = guarded.cluster
        api = connect(ClusterConfig(kubeconfig=str(cluster.kubeconfig)), guarded.project.folder)
        before = restarts(cluster)
        path = f"/api/v1/namespaces/{APPS}/pods"
        assert refusal(api, path, largest_pod()) is None

        # Each takes half a second of two cores, and more of them than this outlast a timeout beside other tests;
        # dev/docs/measurements.md has 50.
        with ThreadPoolExecutor(5) as pool:
            done = list(pool.map(lambda _: refusal(api, path, largest_pod()), range(5)))

        assert set(done) == {None}
        assert restarts(cluster) == before
        assert 0 < most_memory(cluster) < parse_quantity(admission_memory(SIZES.object))
        eventually(lambda: cluster.create(LEGITIMATE, DRY_RUN) == "")
        refused = cluster.create(largest_pod(containers=SIZES.containers + 1), DRY_RUN)
        assert "ValidatingAdmissionPolicy 'flux-tenancy-pod-size'" in refused

    def test_no_request_fails_during_the_end_of_a_replica_or_a_rolling_restart(self, guarded: Environment) -> None:
        cluster = guarded.cluster
        before = pods(cluster)
        assert len(before) == 2

        with asking(guarded) as loop:
            cluster.kubectl("delete", "pod", "-n", "kyverno", sorted(before)[0])
            rolled_out(cluster)
            settle(loop, ended=1)
            cluster.kubectl("rollout", "restart", "-n", "kyverno", ADMISSION)
            rolled_out(cluster)
            eventually(lambda: not before & pods(cluster))
            settle(loop, ended=3)

    def test_a_foreign_kyverno_is_left_alone(self, lab: Lab, guarded: Environment, tmp_path: Path) -> None:
        stranger = Project(tmp_path / "stranger", lab.pulumi)
        # Adoption takes over many things, and not this one.
        cluster = guarded.config["cluster"] | {"adopt": True}
        stranger.stack("stranger", cluster=cluster, flux=lab.bundle(), kyverno=kyverno(lab, "1.19.1"))

        outcome = stranger.run("preview", "--stack", "stranger")

        assert not outcome.succeeded
        assert "(FT-CLU-106)" in outcome.text and "(the namespace kyverno, " in outcome.text

    def test_removal_leaves_no_webhook_and_a_cluster_that_accepts_requests(self, guarded: Environment) -> None:
        cluster = guarded.cluster

        outcome = guarded.project.destroy(NAME)

        assert outcome.succeeded, outcome.text
        for kind in WEBHOOK_KINDS:
            assert cluster.get(kind)["items"] == [], kind
        for kind in ("namespaces", "crds", "clusterroles", "clusterrolebindings"):
            left = [item["metadata"]["name"] for item in cluster.get(kind)["items"]]
            assert not [name for name in left if "kyverno" in name or "policyreport" in name], kind
        assert cluster.create(ATTEMPT, DRY_RUN) == ""


@pytest.mark.exhaustive
def test_an_upgrade_previews_one_change_and_no_request_fails(lab: Lab, tmp_path: Path) -> None:
    project = Project(tmp_path / "project", lab.pulumi)
    with guarded_by(lab, project, UPGRADED, "1.19.0") as guarded:
        guarded.config["kyverno"] = kyverno(lab, "1.19.1")
        assert set(guarded.changes()) == {"Release kyverno"}
        before = pods(guarded.cluster)

        with asking(guarded) as loop:
            guarded.up()
            rolled_out(guarded.cluster)
            eventually(lambda: not before & pods(guarded.cluster))
            settle(loop, ended=2)

        deployment = guarded.cluster.get("deployment", "kyverno-admission-controller", "kyverno")
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"].endswith("/kyverno:v1.19.1")
        assert guarded.changes() == {}
