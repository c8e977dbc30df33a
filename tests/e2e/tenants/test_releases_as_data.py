"""Several syncs of a tenant in the order of their dependencies, and Helm releases as data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.tenants.given_releases import NAMESPACE, SECRET, TENANT, base
from tests.support.environment import Environment
from tests.support.lab import eventually


def data_of(stack: Environment, config_map: str) -> dict[str, str]:
    found: dict[str, str] = stack.cluster.get("configmap", config_map, NAMESPACE)["data"]
    return found


def message_of(stack: Environment, deployment: str) -> str:
    found = stack.cluster.find("deployment", deployment, NAMESPACE) or {"metadata": {"annotations": {}}}
    return str(found["metadata"]["annotations"].get("message", ""))


@pytest.fixture
def told(stack: Environment) -> dict[str, Any]:
    """What the outputs say of the tenant."""
    found: dict[str, Any] = stack.outputs()["tenants"][TENANT]
    return found


@pytest.mark.scenario
class TestReleasesAsData:
    def test_a_sync_is_applied_after_the_one_it_depends_on_with_its_variables_and_patches(self, stack, told):
        assert told["status"] == {"ready": "True", "message": ""}
        assert data_of(stack, "settings") == {"region": "eu", "color": "red", "size": "1"}
        variables = told["syncs"]["variables"]
        assert (variables["ready"], variables["revision"].split("@")[0]) == ("True", "main")

    def test_a_variable_without_a_value_fails_its_sync_and_the_outputs_say_so(self, stack, told):
        unset = told["syncs"]["unset"]
        assert unset["ready"] == "False"
        assert "variable not set" in unset["message"]
        assert stack.cluster.find("configmap", "unset", NAMESPACE) is None

    def test_charts_from_each_kind_of_source_run_in_their_version_with_their_values(self, stack, told):
        releases = told["releases"]
        # The version of a chart from an OCIRepository ends with its digest.
        versions = {name: each.get("revision", "").partition("+")[0] for name, each in releases.items()}
        assert {name: (each["ready"], versions[name]) for name, each in releases.items()} == {
            "greeter": ("True", "1.1.0"),
            "menu": ("True", "1.0.0"),
            "of-git": ("True", "0.1.0"),
            "absent": ("False", ""),
        }, releases
        assert message_of(stack, "greeter") == "of this environment"
        assert message_of(stack, "menu") == SECRET
        assert data_of(stack, "of-git") == {"size": "small"}

    def test_the_outputs_say_why_a_chart_is_not_installed(self, told):
        assert "no chart name found" in told["releases"]["absent"]["message"]

    def test_the_chart_of_a_release_cannot_be_changed_by_its_tenant(self, stack):
        account = f"system:serviceaccount:{NAMESPACE}:{TENANT}"
        patch = '{"spec": {"version": "2.0.0"}}'

        done = stack.cluster.kubectl(
            "patch", "helmchart", f"{NAMESPACE}-greeter", "-n", NAMESPACE, "--type=merge", f"-p={patch}", user=account
        )

        assert done.returncode != 0
        assert "toolkit.fluxcd.io/tenant" in done.stderr

    def test_a_changed_secret_value_is_rolled_out_and_a_removed_release_and_sync_are_gone(self, stack, lab):
        listed = stack.config["tenants"][TENANT]
        listed["releases"] = {"menu": {"secretValues": {"message": stack.secret("changed")}, "dependsOn": []}}
        remaining = base(lab)
        del remaining["releases"]["greeter"], remaining["releases"]["absent"], remaining["syncs"]["unset"]
        stack.project.tenant(TENANT, remaining)

        stack.up()

        assert stack.cluster.find("helmrelease", "greeter", NAMESPACE) is None
        assert stack.cluster.find("deployment", "greeter", NAMESPACE) is None
        assert stack.cluster.find("kustomization", "unset", NAMESPACE) is None
        eventually(lambda: message_of(stack, "menu") == "changed", what="the changed value")
        secrets = stack.cluster.get("secrets", namespace=NAMESPACE)["items"]
        assert len([each for each in secrets if each["metadata"]["name"].startswith(f"{TENANT}.menu-values-")]) == 1
