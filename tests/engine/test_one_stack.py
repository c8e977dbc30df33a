"""One stack over time: from an earlier program to this one and back, and while a tenant has taken a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.version import VERSION
from tests.support.earlier_program import EarlierProgram
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.project import Project

NAME = "one-stack"
TAKEN, FREE = ("dev-team", "apps"), ("ops-team", "tools")
BINDING = f"{TAKEN[0]}-viewers"
RIGHTS = "flux-receivers"


@pytest.fixture(scope="module")
def stack(lab: Lab, project: Project) -> Iterator[Environment]:
    for tenant, namespace in (TAKEN, FREE):
        source = {"url": f"https://git.example.com/{tenant}/apps"}
        project.tenant(tenant, {"namespaces": [{"name": namespace}], "source": source})
    with lab.cluster(NAME) as cluster:
        policies, tenancy = {"engine": "native"}, {"settleTimeout": "1s"}
        yield Environment(lab, project, cluster, flux=lab.bundle(), policies=policies, tenancy=tenancy)


def foreign_binding(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": TAKEN[1]},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "own", "namespace": TAKEN[1]}],
    }


@pytest.mark.scenario
class TestOneStack:
    def test_it_goes_forwards_to_this_program_and_back(
        self, stack: Environment, earlier_program: EarlierProgram
    ) -> None:
        stack.config["tenants"] = {TAKEN[0]: {}}

        assert earlier_program.bring_up(stack).changes == {}
        stack.up()
        with earlier_program.running(stack):
            assert stack.changes() == {}

    def test_its_state_says_which_program_applied_it(self, stack: Environment) -> None:
        """By which an older program refuses to change it."""
        [recorded] = [each for each in stack.project.state(NAME) if each["type"] == CLUSTER_TYPE]

        assert recorded["outputs"]["program"] == stack.outputs()["program"] == VERSION

    def test_a_taken_name_stops_the_objects_of_its_tenant_and_no_others(self, stack: Environment) -> None:
        """Everything else is applied, and the update fails."""
        for name in (BINDING, RIGHTS):
            stack.cluster.create(foreign_binding(name))
        more = {"people": {"viewers": [{"kind": "User", "name": "ann"}]}, "policies": {"kinds": ["Receiver"]}}
        stack.config["tenants"] = {TAKEN[0]: more, FREE[0]: {}}
        stack.write()

        outcome = stack.project.up(NAME)

        assert not outcome.succeeded
        assert "Traceback" not in outcome.text
        lines = outcome.text.splitlines()
        said = [number for number, line in enumerate(lines) if "(FT-CLU-114)" in line and "error" in line]
        assert said, outcome.text
        created = [number for number, line in enumerate(lines) if FREE[0] in line and "created" in line]
        assert created and max(created) < min(said), outcome.text
        assert stack.cluster.find("kustomization", FREE[0], FREE[1]) is not None
        for name in (BINDING, RIGHTS):
            labels = stack.cluster.get("rolebinding", name, TAKEN[1])["metadata"].get("labels", {})
            assert "toolkit.fluxcd.io/tenant" not in labels
        assert stack.cluster.find("kustomization", *TAKEN) is not None

    def test_a_preview_says_so_and_succeeds(self, stack: Environment) -> None:
        preview = stack.project.run("preview", "--stack", NAME)

        assert preview.succeeded, preview.text
        assert f"RoleBinding {TAKEN[1]}/{BINDING} exists in the cluster" in preview.text
        assert "(FT-CLU-114)" in preview.text

    def test_the_next_update_creates_it_once_the_name_is_free(self, stack: Environment) -> None:
        for name in (BINDING, RIGHTS):
            stack.cluster.kubectl("delete", "rolebinding", name, "-n", TAKEN[1])

        stack.up()

        assert "toolkit.fluxcd.io/tenant" in stack.cluster.get("rolebinding", BINDING, TAKEN[1])["metadata"]["labels"]
        assert stack.changes() == {}
