"""A tenant makes a namespace by a push, and one too many by another."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml

from tests.e2e.capsule.given_tenants import (
    ACCOUNT,
    BEYOND,
    LISTED,
    MADE,
    MAKER,
    NAME,
    ORGANIZATION,
    app,
    namespace,
)
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually

CAPSULE_TENANT = "capsule.clastix.io/tenant"


def push(stack: Environment, lab: Lab, files: dict[str, dict[str, Any] | None]) -> None:
    """Commit files to the tenant's folder, and make Flux look."""
    text = {f"{MAKER}/{path}": yaml.safe_dump(each) if each else None for path, each in files.items()}
    lab.git.commit_files(ORGANIZATION, NAME, text, "Change the shop")
    for kind in ("gitrepository", "kustomization"):
        stack.cluster.reconcile(kind, MAKER, MAKER)


def available(stack: Environment, name: str, place: str) -> bool:
    found = stack.cluster.find("deployment", name, place) or {}
    return bool(found.get("status", {}).get("availableReplicas"))


@pytest.mark.scenario
class TestANamespaceOfATenant:
    def test_a_push_with_a_namespace_and_an_app_is_running_soon(
        self, stack: Environment, lab: Lab, record_property: Any
    ) -> None:
        began = time.monotonic()
        push(stack, lab, {"web/namespace.yaml": namespace(MADE), "web/app.yaml": app("web", MADE)})

        # Flux is refused until Capsule has filled the namespace, and tries again; 10 s, but a machine may be busy.
        eventually(lambda: available(stack, "web", MADE), 180, "the app in the namespace that the tenant makes")
        record_property("seconds from push to app", round(time.monotonic() - began, 1))
        eventually(lambda: stack.cluster.ready("kustomization", MAKER, MAKER)[0] == "True", what="the sync")

    def test_the_namespace_has_what_those_of_the_stack_have(self, stack: Environment) -> None:
        made = stack.cluster.get("namespace", MADE)["metadata"]
        listed = stack.cluster.get("namespace", LISTED)["metadata"]

        labels = {"toolkit.fluxcd.io/tenant", "pod-security.kubernetes.io/enforce", CAPSULE_TENANT}
        assert {key: made["labels"][key] for key in labels} == {key: listed["labels"][key] for key in labels}
        assert made["annotations"]["flux-tenancy/namespaces"] == listed["annotations"]["flux-tenancy/namespaces"]
        assert [each["kind"] for each in made["ownerReferences"]] == ["Tenant"]
        for kind in ("resourcequota", "networkpolicy"):
            own, others = (
                [each["spec"] for each in stack.cluster.get(kind, namespace=place)["items"]] for place in (MADE, LISTED)
            )
            assert len(own) == len(others), kind

    def test_the_namespace_is_the_tenants_and_not_its_own_to_change(self, stack: Environment) -> None:
        [tenant] = [each for each in stack.cluster.get("tenants.capsule.clastix.io")["items"] if _name(each) == MAKER]

        assert sorted(tenant["status"]["namespaces"]) == sorted([LISTED, MADE])
        assert CAPSULE_TENANT not in stack.cluster.get("namespace", MAKER)["metadata"]["labels"]

    def test_flux_finds_nothing_to_change_once_it_is_there(self, stack: Environment) -> None:
        before = stack.cluster.get("namespace", MADE)["metadata"]["resourceVersion"]

        stack.cluster.reconcile("kustomization", MAKER, MAKER)

        eventually(lambda: stack.cluster.ready("kustomization", MAKER, MAKER)[0] == "True", what="the sync")
        assert stack.cluster.get("namespace", MADE)["metadata"]["resourceVersion"] == before

    def test_one_namespace_too_many_is_refused_and_the_tenant_is_told(self, stack: Environment, lab: Lab) -> None:
        push(stack, lab, {"beyond/namespace.yaml": namespace(BEYOND), "beyond/app.yaml": app("beyond", BEYOND)})

        message = stack.cluster.refusal("kustomization", MAKER, MAKER, saying="Namespace quota")

        assert f"Namespace/{BEYOND}" in message
        assert "Cannot exceed Namespace quota" in message
        assert stack.cluster.find("namespace", BEYOND) is None
        assert available(stack, "web", MADE)
        push(stack, lab, {"beyond/namespace.yaml": None, "beyond/app.yaml": None})

    @pytest.mark.parametrize(
        ("name", "change", "refusal"),
        [
            ("image", {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "evil/app"}]}}}}, "evil"),
            ("host", {"spec": {"template": {"spec": {"hostNetwork": True}}}}, "hostNetwork"),
        ],
    )
    def test_the_policies_hold_there(self, stack: Environment, name: str, change: dict[str, Any], refusal: str) -> None:
        patch = ("patch", "deployment", "web", "-n", MADE, "--type=strategic", "--patch", json.dumps(change))

        done = stack.cluster.kubectl(*patch, "--dry-run=server", user=ACCOUNT)

        assert refusal in done.stderr and "denied" in done.stderr, name

    def test_the_tenant_takes_it_back_by_a_push(self, stack: Environment, lab: Lab) -> None:
        push(stack, lab, {"web/namespace.yaml": None, "web/app.yaml": None})

        eventually(lambda: stack.cluster.find("namespace", MADE) is None, what="the namespace to be gone")
        assert available(stack, "data", LISTED)


def _name(manifest: dict[str, Any]) -> str:
    return str(manifest["metadata"]["name"])
