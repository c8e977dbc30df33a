"""The rollout of policies on a running cluster: audited, reported on existing objects, then enforced."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.config.messages import Message
from tests.support.environment import Environment
from tests.support.lab import eventually
from tests.support.messages import said

EXPOSED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "exposed", "namespace": "apps"},
    "spec": {"type": "NodePort", "selector": {"app": "exposed"}, "ports": [{"port": 80}]},
}
ON_THE_HOST: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "on-the-host", "namespace": "apps"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "on-the-host"}},
        "template": {
            "metadata": {"labels": {"app": "on-the-host"}},
            "spec": {"hostNetwork": True, "containers": [{"name": "main", "image": "registry.example.com/main:1"}]},
        },
    },
}
INNOCENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "innocent", "namespace": "apps"},
    "spec": {"selector": {"app": "innocent"}, "ports": [{"port": 80}]},
}
OBJECTS = (EXPOSED, ON_THE_HOST, INNOCENT)
# What a tenant could write before kinds and sources were closed; suspended, so that Flux leaves it alone.
CHART = {"chart": "./chart", "sourceRef": {"kind": "GitRepository", "name": "older"}}
URL = "https://git.example.com/dev-team/charts"
OLDER: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "notification.toolkit.fluxcd.io/v1beta3",
        "kind": "Alert",
        "spec": {"providerRef": {"name": "older"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]},
    },
    {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "spec": {"interval": "10m", "url": URL}},
    {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "spec": {"interval": "10m", "serviceAccountName": "dev-team", "chart": {"spec": CHART}},
    },
)
OLDER_OBJECTS = [
    each | {"metadata": {"name": "older", "namespace": "apps"}, "spec": {"suspend": True, **each["spec"]}}
    for each in OLDER
]
# Which entry of `kinds` allows each of them (docs/adoption.md); the other is refused by `allowed-sources`.
CLOSED_KINDS = {"Alert": "Alert", "HelmRelease": "HelmChart"}
CLOSED = (*CLOSED_KINDS, "GitRepository")
OF_TENANT = "system:serviceaccount:apps:dev-team"
BESIDE_ITS_ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    # The API server takes almost any text for the name of a binding.
    "metadata": {"name": "beside\x1b[31m", "labels": {"test": "beside-its-role"}},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}],
}
TOLD = (
    "ClusterRoleBinding beside [31m for ServiceAccount apps/dev-team: "
    "ClusterRole cluster-admin adds everything in the whole cluster"
)


class Rollout:
    """The stack, whose policies come step by step."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.cluster = environment.cluster

    def policies(self, *sources: str, **policies: Any) -> str:
        """Apply them, with a list of sources; returns what `pulumi up` says."""
        # Tenants of other modules have public repositories, which the lab's Git host gives over plain HTTP.
        self.environment.config["policies"] = policies | {"sources": {"plainHttp": True, "allowed": [*sources]}}
        return self.environment.up()

    def suspended(self, kind: str) -> str:
        """What the tenant is told when it changes an older object; nothing if that is allowed."""
        older = ("-n", "apps", kind.lower(), "older", "--type=merge")
        patch = json.dumps({"spec": {"suspend": False}})
        done = self.cluster.kubectl("patch", *older, "-p", patch, "--dry-run=server", user=OF_TENANT)
        assert done.returncode == 0 or "denied" in done.stderr, done.stderr
        return done.stderr

    def beside_its_role(self) -> list[str]:
        """What the outputs say that the tenant has more than its role."""
        told: list[str] = self.environment.outputs()["tenants"]["dev-team"]["furtherAccess"]
        return told

    def report(self) -> dict[str, Any] | str:
        """The report, or the error in its place."""
        with contextlib.chdir(self.environment.project.folder):
            command = ["tenant", "violations", "--stack", self.cluster.name, "--output", "json"]
            done = CliRunner().invoke(app, command)
        assert done.exit_code in (0, 2), done.exception
        return done.stderr if done.exit_code == 2 else json.loads(done.stdout)

    def found(self, mode: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The findings about the objects of this test, once the API server has taken notice of both policies."""
        names = [manifest["metadata"]["name"] for manifest in OBJECTS]

        def findings() -> dict[tuple[str, str], dict[str, Any]]:
            report = self.report()
            assert not isinstance(report, str), report
            of_mode = [each for each in report["findings"] if each["mode"] == mode and each["name"] in names]
            found = {(each["name"], each["policy"]): each for each in of_mode}
            return found if len(found) >= 2 else {}

        return eventually(findings)


@pytest.fixture(scope="module")
def rollout(staging_stack: Environment) -> Iterator[Rollout]:
    before, tenancy = staging_stack.config["policies"], staging_stack.config.get("tenancy", {})
    rollout = Rollout(staging_stack)
    for manifest in (*OBJECTS, *OLDER_OBJECTS, BESIDE_ITS_ROLE):
        rollout.cluster.apply(manifest)
    yield rollout
    rollout.cluster.kubectl("delete", "clusterrolebinding", "-l", "test=beside-its-role")
    for manifest in (*OBJECTS, *OLDER_OBJECTS):
        kind, metadata = manifest["kind"], manifest["metadata"]
        rollout.cluster.kubectl("delete", kind, metadata["name"], "-n", metadata["namespace"], "--ignore-not-found")
    staging_stack.config |= {"policies": before, "tenancy": tenancy}
    staging_stack.up()


def test_the_policy_report_predicts_the_refusals(rollout: Rollout) -> None:
    assert "(FT-OPS-043)" in rollout.report()
    versions = _versions(rollout)

    text = rollout.policies(engine="native", mode="audit")
    audited = rollout.found("audit")

    # The binding is told wherever somebody looks, and not judged.
    assert f"warning: tenant dev-team has rights beyond its role: {TOLD}" in text
    assert rollout.beside_its_role() == [TOLD]
    report = rollout.report()
    rollout.cluster.kubectl("delete", "clusterrolebinding", "-l", "test=beside-its-role")

    assert set(audited) == {("exposed", "service-exposure"), ("on-the-host", "host-access")}
    assert {(each["tenant"], *each["engines"]) for each in audited.values()} == {("dev-team", "native")}
    # Warned of, and changed all the same.
    changed = _change(rollout, EXPOSED)
    assert changed.returncode == 0 and audited["exposed", "service-exposure"]["message"] in changed.stderr

    for kind in CLOSED:
        assert "Warning: " in rollout.suspended(kind)
    assert [each["kind"] for each in _of_older(report, "allowed-sources")] == ["GitRepository"]
    of_kinds = {each["kind"]: each["message"] for each in _of_older(report, "allowed-kinds")}
    assert of_kinds == {kind: _lacks(kind) for kind in CLOSED_KINDS}

    # One line for kinds and one for sources, as docs/adoption.md says.
    rollout.environment.config["tenancy"] = {"kinds": ["Alert", "HelmChart"]}
    text = rollout.policies("*", engine="native", mode="enforce")
    assert "rights beyond its role" not in text
    report = rollout.report()
    assert [*_of_older(report, "allowed-kinds"), *_of_older(report, "allowed-sources")] == []
    assert rollout.beside_its_role() == []
    enforced = rollout.found("enforce")

    assert {key: each["message"] for key, each in enforced.items()} == {
        key: each["message"] for key, each in audited.items()
    }
    refused = _change(rollout, EXPOSED)
    assert refused.returncode != 0 and enforced["exposed", "service-exposure"]["message"] in refused.stderr
    assert {kind: rollout.suspended(kind) for kind in CLOSED} == dict.fromkeys(CLOSED, "")
    # What runs is not touched: not by the report, not by the policies.
    assert _versions(rollout)[1:] == versions[1:]
    assert _change(rollout, INNOCENT).returncode == 0
    assert rollout.cluster.kubectl("label", "service", "exposed", "-n", "apps", "a=b").returncode == 0


def _of_older(report: dict[str, Any] | str, policy: str) -> list[dict[str, Any]]:
    assert not isinstance(report, str), report
    return [each for each in report["findings"] if (each["name"], each["policy"]) == ("older", policy)]


def _lacks(kind: str) -> Message:
    """What is said about an older object in audit mode."""
    return said(
        "FT-CFG-680",
        tenant="dev-team",
        objects=f"{kind} apps/older",
        entry=CLOSED_KINDS[kind],
        refused="warned about",
        policy="allowed-kinds",
    )


def _change(rollout: Rollout, manifest: dict[str, Any]) -> Any:
    """Change the spec of an object, as somebody who does not mind what it says otherwise."""
    old = rollout.cluster.get(manifest["kind"], manifest["metadata"]["name"], "apps")["spec"]["selector"]
    patch = json.dumps({"spec": {"selector": {**old, "round": f"a{old.get('round', '')}"}}})
    return rollout.cluster.kubectl("patch", manifest["kind"], manifest["metadata"]["name"], "-n", "apps", "-p", patch)


def _versions(rollout: Rollout) -> list[str]:
    found = [rollout.cluster.get(each["kind"], each["metadata"]["name"], "apps") for each in OBJECTS]
    return [each["metadata"]["generation" if "generation" in each["metadata"] else "resourceVersion"] for each in found]
