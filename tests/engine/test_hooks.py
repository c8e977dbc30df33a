"""Waits as hooks of the real engine: a tenant's wait fails alone, and an update without changes does not wait.

The objects are components, which the engine creates as it does all else, so that neither a provider nor a cluster is
needed to see what it makes of a hook.
"""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.project import Project
from tests.support.releases import FLUX_VERSION

NAME = "hooks"
# `asked` has a line for each wait; the namespaces in `counting` are counted.
PROGRAM = """\
from pathlib import Path

import pulumi

from flux_tenancy.components.tenant import quotas
from flux_tenancy.components.cluster.hooks import hooked
from flux_tenancy.components.stack.loading import read_stack, stack_file
from flux_tenancy.components.stack.plan import stack_plan

HERE = Path(__file__).parent


def wait_until_counting(api, namespace, name, counted):
    with (HERE / "asked").open("a") as asked:
        asked.write(f"{namespace} {name}\\n")
    if namespace not in (HERE / "counting").read_text():
        raise quotas.NotCounting(f"the cluster has not begun to count in {namespace}")


quotas.wait_until_counting = wait_until_counting
config = read_stack(HERE, stack_file(HERE))
waiting = hooked(quotas.QuotaHooks(None, stack_plan(config, "hooks").tenants.values()).of)
for namespace in ("apps", "tools"):
    tenant = pulumi.ComponentResource("test:index:Tenant", namespace)
    first = None
    for kind in ("ServiceAccount", "Kustomization"):
        manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace}}
        after = pulumi.ResourceOptions(parent=tenant, depends_on=[first] if first else [])
        after = pulumi.ResourceOptions.merge(after, waiting(manifest))
        first = pulumi.ComponentResource(f"test:index:{kind}", namespace, manifest, after)
"""
OF_DEV_TEAM = {"ServiceAccount apps", "Kustomization apps"}
OF_OPS_TEAM = {"ServiceAccount tools", "Kustomization tools"}
QUOTAS = ["dev-team-flux-objects", "dev-team-objects"]


@pytest.fixture(scope="module")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("hooks") / "platform", lab.pulumi)
    for tenant, namespace in (("dev-team", "apps"), ("ops-team", "tools")):
        source = {"url": f"https://git.example.com/{tenant}/apps"}
        project.tenant(tenant, {"namespaces": [{"name": namespace}], "source": source})
    (project.folder / "__main__.py").unlink()
    (project.folder / "__main__.py").write_text(PROGRAM)
    (project.folder / "asked").touch()
    project.stack(
        NAME,
        cluster={"kubeconfig": "kubeconfig"},
        flux={"version": FLUX_VERSION, "sha256": "5f" * 32},
        tenants={"dev-team": {}, "ops-team": {}},
    )
    return project


def count(project: Project, *namespaces: str) -> None:
    """Let these namespaces be counted, and clear the recorded waits."""
    (project.folder / "counting").write_text(" ".join(namespaces))
    (project.folder / "asked").write_text("")


def asked(project: Project) -> list[str]:
    return sorted((project.folder / "asked").read_text().splitlines())


@pytest.mark.scenario
class TestWaits:
    def test_a_preview_waits_for_nothing(self, project: Project) -> None:
        count(project)

        assert project.changes(NAME).keys() >= OF_DEV_TEAM | OF_OPS_TEAM
        assert asked(project) == []

    def test_a_failed_wait_stops_its_dependents_and_no_other_tenant(self, project: Project) -> None:
        count(project, "tools")

        outcome = project.run("up", "--yes", "--skip-preview", "--continue-on-error", "--stack", NAME)

        assert not outcome.succeeded
        assert "the cluster has not begun to count in apps" in outcome.text
        assert "Traceback" not in outcome.text
        assert not OF_DEV_TEAM & set(project.resources(NAME))
        assert set(project.resources(NAME)) >= OF_OPS_TEAM

    def test_the_next_update_goes_on_where_it_stopped(self, project: Project) -> None:
        count(project, "apps")

        assert project.up(NAME).succeeded
        assert set(project.resources(NAME)) >= OF_DEV_TEAM | OF_OPS_TEAM
        assert asked(project) == [f"apps {quota}" for quota in QUOTAS]

    def test_an_update_without_changes_waits_for_nothing(self, project: Project) -> None:
        count(project)

        assert project.up(NAME).succeeded
        assert asked(project) == []

    def test_a_stack_is_destroyed_without_its_program(self, project: Project) -> None:
        (project.folder / "__main__.py").write_text("raise SystemExit('it runs')")

        outcome = project.destroy(NAME)

        assert outcome.succeeded, outcome.text
        assert project.resources(NAME) == []
