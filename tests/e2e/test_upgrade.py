"""An upgrade of Flux does not disturb running tenants, which commit meanwhile, under enforced policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.admission import refused_to_controllers
from tests.support.busy_tenants import Committing, FailedSyncs, Repository
from tests.support.environment import Environment, base
from tests.support.lab import Lab, eventually
from tests.support.project import Project
from tests.support.releases import FLUX_VERSION, OLDER_FLUX_VERSION, flux_image

NAME = "upgrade"
APPS = Repository("dev-team", "apps", "apps", "production/welcome.yaml", "guestbook-welcome")
TOOLS = Repository("ops-team", "tools", "tools", "production/sites.yaml", "link-checker-sites")

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def stack(lab: Lab, project: Project) -> Iterator[Environment]:
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
    project.tenant("ops-team", base(lab, "ops-team/tools", "tools"))
    with lab.cluster(NAME) as cluster:
        environment = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle(OLDER_FLUX_VERSION),
            kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1},
            policies={"engine": "both"},
        )
        for tenant in ("dev-team", "ops-team"):
            environment.onboard(tenant, "./production")
        environment.up()
        yield environment


def images(environment: Environment) -> set[str]:
    found = environment.cluster.get("deployments", namespace="flux-system")["items"]
    return {item["spec"]["template"]["spec"]["containers"][0]["image"].split("/")[-1] for item in found}


def test_no_sync_fails_during_an_upgrade_of_flux(
    lab: Lab, stack: Environment, record_property: Callable[[str, object], None]
) -> None:
    namespaces = ("apps", "tools")
    eventually(lambda: len(stack.applications(*namespaces)) == 2)
    before = stack.applications(*namespaces)
    assert flux_image("kustomize-controller", "flux-older") in images(stack)
    stack.config["flux"] = lab.bundle()

    changes = stack.changes()

    assert {"Deployment flux-system/kustomize-controller", "Deployment flux-system/source-controller"} <= set(changes)
    assert {change[0] for change in changes.values()} == {"update"}
    assert not [name for name in changes if "apps" in name or "tools" in name]

    with FailedSyncs(stack.cluster) as failed, Committing(lab, stack.cluster, APPS, TOOLS) as tenants:
        stack.up()
    record_property("commits of each tenant during the upgrade", tenants.rounds)
    record_property("states of Flux's objects during the upgrade", failed.states)
    record_property("those in which a sync waited", failed.waits)

    assert failed.found == []
    assert tenants.rounds > 5 and failed.states > 10 * tenants.rounds
    eventually(lambda: set(tenants.applied().values()) == {tenants.rounds})
    assert {flux_image("kustomize-controller"), flux_image("source-controller")} <= images(stack)
    assert stack.applications(*namespaces) == before
    assert stack.outputs()["flux"]["version"] == FLUX_VERSION
    stack.cluster.reconcile("kustomization", "dev-team", "apps")
    eventually(lambda: stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True")
    assert refused_to_controllers(lab, stack.cluster) == []
