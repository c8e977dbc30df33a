"""Changing Flux under running tenants: another release, another profile. The tenants do not notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.conftest import Environment
from tests.e2e.manifests import git_repository, kustomization
from tests.support.lab import Lab, eventually


def applications(environment: Environment) -> dict[str, tuple[str, int]]:
    """uid and generation of each tenant's Deployment: neither changes unless somebody touches it."""
    found = environment.cluster.get("deployments")["items"]
    return {
        item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"]["generation"])
        for item in found
        if item["metadata"]["namespace"] in ("apps", "tools")
    }


def images(environment: Environment) -> set[str]:
    found = environment.cluster.get("deployments", namespace="flux-system")["items"]
    return {item["spec"]["template"]["spec"]["containers"][0]["image"].split("/")[-1] for item in found}


def nameless_sync(lab: Lab, folder: Path) -> list[dict[str, Any]]:
    """A source of one config map, and a sync that names no service account."""
    note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
    url = lab.repository("mallory", "note", {"production/note.yaml": note}, folder)
    sync = kustomization("nameless", source="note", path="./production")
    del sync["spec"]["serviceAccountName"]
    return [git_repository("note", url), sync]


def test_an_upgrade_is_previewed_and_applied_with_tenants_undisturbed(lab: Lab, production_stack: Environment) -> None:
    before = applications(production_stack)
    assert len(before) == 2
    assert "kustomize-controller:v1.9.4" in images(production_stack)
    production_stack.config["flux"] = lab.bundle("2.9.5")

    changes = production_stack.changes()

    assert {"Deployment flux-system/kustomize-controller", "Deployment flux-system/source-controller"} <= set(changes)
    assert {change[0] for change in changes.values()} == {"update"}
    assert not [name for name in changes if "apps" in name or "tools" in name]

    production_stack.up()

    assert "kustomize-controller:v1.9.5" in images(production_stack)
    assert applications(production_stack) == before
    assert production_stack.outputs()["flux"]["version"] == "2.9.5"
    production_stack.cluster.reconcile("kustomization", "dev-team", "apps")
    eventually(lambda: production_stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True")


def test_the_profile_is_switched_there_and_back(lab: Lab, production_stack: Environment, tmp_path: Path) -> None:
    before = applications(production_stack)
    production_stack.config["flux"] = lab.bundle("2.9.5") | {"profile": "single-tenant"}

    changes = production_stack.changes()

    assert set(changes) >= {"Deployment flux-system/kustomize-controller", "ClusterRole crd-controller"}
    assert not [name for name in changes if not name.startswith(("Deployment flux-system/", "ClusterRole "))]
    production_stack.up()
    # What the multi-tenant profile refuses is applied with the controller's own rights here.
    for manifest in nameless_sync(lab, tmp_path):
        production_stack.cluster.apply(manifest)
    eventually(lambda: production_stack.cluster.ready("kustomization", "nameless", "apps")[0] == "True")

    production_stack.config["flux"] = lab.bundle("2.9.5")
    production_stack.up()
    production_stack.cluster.reconcile("kustomization", "nameless", "apps")
    production_stack.cluster.refusal("kustomization", "nameless", "apps", saying="system:serviceaccount:apps:default")
    assert applications(production_stack) == before
    assert production_stack.outputs()["flux"]["profile"] == "multi-tenant"


def test_a_sync_that_may_not_prune_does_not_hold_its_namespace(production_stack: Environment) -> None:
    """The refused sync of the test before is still there: its finalizer must not outlive the tenant."""
    assert production_stack.cluster.get("kustomization", "nameless", "apps")

    outcome = production_stack.project.destroy("production")

    assert outcome.succeeded, outcome.text
    assert production_stack.cluster.get("namespace", "apps") is None
