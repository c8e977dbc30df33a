"""An upgrade of Flux does not disturb running tenants under enforced policies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.admission import refused_to_controllers
from tests.support.environment import Environment, base
from tests.support.lab import Lab, eventually
from tests.support.project import Project
from tests.support.releases import FLUX_VERSION, OLDER_FLUX_VERSION, flux_image

NAME = "upgrade"

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


def test_an_upgrade_of_flux_does_not_disturb_tenants(lab: Lab, stack: Environment) -> None:
    namespaces = ("apps", "tools")
    eventually(lambda: len(stack.applications(*namespaces)) == 2)
    before = stack.applications(*namespaces)
    assert flux_image("kustomize-controller", "flux-older") in images(stack)
    stack.config["flux"] = lab.bundle()

    changes = stack.changes()

    assert {"Deployment flux-system/kustomize-controller", "Deployment flux-system/source-controller"} <= set(changes)
    assert {change[0] for change in changes.values()} == {"update"}
    assert not [name for name in changes if "apps" in name or "tools" in name]

    stack.up()

    assert {flux_image("kustomize-controller"), flux_image("source-controller")} <= images(stack)
    assert stack.applications(*namespaces) == before
    assert stack.outputs()["flux"]["version"] == FLUX_VERSION
    stack.cluster.reconcile("kustomization", "dev-team", "apps")
    eventually(lambda: stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True")
    assert refused_to_controllers(lab, stack.cluster) == []
