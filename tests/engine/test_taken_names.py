"""A name that one tenant has taken stops that tenant's objects and no others, with the real engine and API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

NAME = "taken"
TAKEN, FREE = ("dev-team", "apps"), ("ops-team", "tools")
BINDING = f"{TAKEN[0]}-viewers"
RIGHTS = "flux-receivers"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster(NAME) as running:
        yield running


@pytest.fixture(scope="module")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp(NAME) / "platform", lab.pulumi)


def write(project: Project, lab: Lab, cluster: RunningCluster, **tenants: dict[str, Any]) -> None:
    """Write the stack with these tenants."""
    for tenant, namespace in (TAKEN, FREE):
        source = {"url": f"https://git.example.com/{tenant}/apps"}
        project.tenant(tenant, {"namespaces": [{"name": namespace}], "source": source})
    project.stack(
        NAME,
        cluster={"kubeconfig": str(cluster.kubeconfig), "context": NAME},
        flux=lab.bundle(),
        policies={"engine": "native"},
        tenants=tenants,
    )


def foreign_binding(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": TAKEN[1]},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "own", "namespace": TAKEN[1]}],
    }


@pytest.mark.scenario
class TestTakenNames:
    def test_everything_else_is_applied_and_the_update_fails(
        self, lab: Lab, project: Project, cluster: RunningCluster
    ) -> None:
        write(project, lab, cluster, **{TAKEN[0]: {}})
        before = project.up(NAME)
        assert before.succeeded, before.text
        for name in (BINDING, RIGHTS):
            cluster.create(foreign_binding(name))
        more = {"people": {"viewers": [{"kind": "User", "name": "ann"}]}, "policies": {"kinds": ["Receiver"]}}
        write(project, lab, cluster, **{TAKEN[0]: more, FREE[0]: {}})

        outcome = project.up(NAME)

        assert not outcome.succeeded
        assert "Traceback" not in outcome.text
        lines = outcome.text.splitlines()
        said = [number for number, line in enumerate(lines) if "(FT-CLU-114)" in line and "error" in line]
        assert said, outcome.text
        created = [number for number, line in enumerate(lines) if FREE[0] in line and "created" in line]
        assert created and max(created) < min(said), outcome.text
        assert cluster.find("kustomization", FREE[0], FREE[1]) is not None
        for name in (BINDING, RIGHTS):
            labels = cluster.get("rolebinding", name, TAKEN[1])["metadata"].get("labels", {})
            assert "toolkit.fluxcd.io/tenant" not in labels
        assert cluster.find("kustomization", *TAKEN) is not None

    def test_a_preview_says_so_and_succeeds(self, project: Project) -> None:
        preview = project.run("preview", "--stack", NAME)

        assert preview.succeeded, preview.text
        assert f"RoleBinding {TAKEN[1]}/{BINDING} exists in the cluster" in preview.text
        assert "(FT-CLU-114)" in preview.text

    def test_the_next_update_creates_it_once_the_name_is_free(self, project: Project, cluster: RunningCluster) -> None:
        for name in (BINDING, RIGHTS):
            cluster.kubectl("delete", "rolebinding", name, "-n", TAKEN[1])

        outcome = project.up(NAME)

        assert outcome.succeeded, outcome.text
        assert "toolkit.fluxcd.io/tenant" in cluster.get("rolebinding", BINDING, TAKEN[1])["metadata"]["labels"]
        assert project.changes(NAME) == {}
