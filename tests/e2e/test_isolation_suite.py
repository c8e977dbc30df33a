"""The isolation suite against a platform with policies, and against plain Flux, where it must find holes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_tenancy.isolation.live import LABEL
from tests.e2e.manifests import namespace
from tests.support.earlier_program import EarlierProgram, Upgraded
from tests.support.environment import Environment, base
from tests.support.isolation import assert_safe, beginning, run, run_stack
from tests.support.lab import Lab, eventually
from tests.support.mutations import ELSEWHERE, Inventories, native_holes
from tests.support.project import Project
from tests.support.renders import differences

NAME = "isolation"
SECOND = "apps-data"
"""The tenant's second namespace."""
LEFT = "gitrepositories,kustomizations,helmreleases,imagepolicies,artifactgenerators,rolebindings"
# Attempts that pass with plain Flux; the tenant's namespace still has Pod Security and its quota.
HOLES = {
    "1-kustomization-source",
    "4-remote-base",
    "5-kustomization-nameless",
    "6-helmrelease-other-account",
    "13-git",
    "15-kustomization-kubeconfig-secret",
    "17-unknown-own",
    "20-node-port",
    "29-git",
    "33-pod",
}


@pytest.fixture(scope="module")
def upgraded(lab: Lab, project: Project, earlier_program: EarlierProgram) -> Iterator[Upgraded]:
    tenant = base(lab, "dev-team/apps", "apps")
    tenant["namespaces"].append({"name": SECOND})
    project.tenant("dev-team", tenant)
    with lab.cluster(NAME) as cluster:
        allowed = [lab.git.ssh_url("dev-team", "*").removesuffix(".git")]
        environment = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle(),
            tenancy={"networkPolicy": "default-deny"},
            policies={"engine": "native", "sources": {"allowed": allowed}},
        )
        environment.onboard("dev-team", "./staging")
        upgraded = earlier_program.bring_up(environment)
        eventually(lambda: cluster.ready("kustomization", "dev-team", "apps")[0] == "True")
        eventually(lambda: cluster.get("pods", namespace="apps")["items"])
        yield upgraded


@pytest.fixture
def stack(upgraded: Upgraded) -> Environment:
    return upgraded.stack


def test_a_stack_that_the_earlier_program_applied_does_not_change(upgraded: Upgraded) -> None:
    assert upgraded.changes == {}


def test_the_offline_render_is_what_the_update_has_applied(stack: Environment) -> None:
    assert "\n".join(differences(stack.project, NAME)) == ""


@pytest.mark.scenario
class TestSuite:
    """The same tenant, first on a platform, then with plain Flux."""

    def test_no_attempt_passes_and_each_layer_holds_alone(self, stack: Environment) -> None:
        cluster = stack.cluster

        [found] = run_stack(stack.project, NAME)
        assert_safe(found)
        without_admission = run(cluster.kubeconfig, "--without", "admission")
        without_role = run(cluster.kubeconfig, "--without", "role", "--live")

        assert_safe(without_admission)
        assert without_admission.attempts["1-kustomization-source"]["layer"] == "flux"
        assert without_admission.attempts["19-privileged"]["layer"] == "pod-security"
        assert_safe(without_role)
        assert without_role.attempts["11-resourcequota"]["by"] == "flux-tenancy-tenant-limits"
        assert cluster.kubectl("get", LEFT, "-A", "-l", LABEL, "-o", "name").stdout == ""

    def test_the_inventory_finds_each_of_many_holes(self, stack: Environment) -> None:
        holes = native_holes("dev-team", "apps", SECOND)
        inventories = Inventories(stack.project, NAME, stack.cluster.kubeconfig)

        stack.cluster.apply(namespace(ELSEWHERE, {}))
        assert len(holes) >= 40
        assert inventories.of("dev-team") == ()
        assert inventories.missed("dev-team", holes) == []

    def test_plain_flux_has_holes(self, stack: Environment) -> None:
        stack.config["flux"]["profile"] = "single-tenant"
        stack.config["policies"] = {"engine": "none"}
        stack.config["tenants"]["dev-team"] |= {"role": "cluster-admin"}
        stack.up()

        found = run(stack.cluster.kubeconfig, "--live")

        assert found.code == 1
        assert found.ids("passed") >= HOLES
        # Flux itself answered: it looks for the source in the other namespace.
        assert found.attempts["1-kustomization-source"]["layers"]["flux"]["state"] == "open"
        assert beginning(found.ids("refused"), "7-", "8-")
        assert stack.cluster.kubectl("get", LEFT, "-A", "-l", LABEL, "-o", "name").stdout == ""
