"""From configuration to a reconciled tenant, and daily operation."""

from __future__ import annotations

from typing import Any

from tests.support.earlier_program import Upgraded
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.releases import FLUX_VERSION, KUBERNETES_VERSION
from tests.support.renders import differences


def welcome(environment: Environment) -> str:
    found = environment.cluster.find("configmap", "guestbook-welcome", "apps")
    return found["data"]["welcome.txt"] if found else ""


def test_the_tenants_application_runs(staging_stack: Environment) -> None:
    def deployed() -> dict[str, Any]:
        return staging_stack.cluster.find("deployment", "guestbook", "apps") or {}

    eventually(lambda: deployed().get("status", {}).get("readyReplicas") == 1)
    assert deployed()["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == "dev-team"
    assert "staging" in welcome(staging_stack)


def test_two_environments_live_side_by_side(staging_stack: Environment, production_stack: Environment) -> None:
    assert welcome(staging_stack) != welcome(production_stack)
    assert production_stack.cluster.get("namespace", "tools")
    assert staging_stack.cluster.find("namespace", "tools") is None


def test_a_stack_that_the_earlier_program_applied_does_not_change(upgraded_staging: Upgraded) -> None:
    assert upgraded_staging.changes == {}


def test_a_second_up_changes_nothing(staging_stack: Environment) -> None:
    text = staging_stack.up()
    assert " unchanged" in text
    assert not [
        word for word in ("created", "updated", "replaced", "deleted") if f" {word}" in text.split("Resources:")[1]
    ]


def test_the_offline_render_is_what_the_update_has_applied(staging_stack: Environment) -> None:
    assert "\n".join(differences(staging_stack.project, staging_stack.cluster.name)) == ""


def test_a_preview_shows_exactly_the_edit(staging_stack: Environment) -> None:
    sync = staging_stack.config["tenants"]["dev-team"]["sync"]
    sync["interval"] = "7m"
    try:
        assert staging_stack.changes() == {"Kustomization apps/dev-team": ["update", "spec.interval"]}
    finally:
        del sync["interval"]
        staging_stack.write()


def test_outputs_say_what_an_operator_asks_next(lab: Lab, staging_stack: Environment) -> None:
    outputs = staging_stack.outputs()
    uid = staging_stack.cluster.get("namespace", "kube-system")["metadata"]["uid"]
    assert outputs["cluster"] == {"uid": uid, "version": f"v{KUBERNETES_VERSION}", "context": "staging"}
    assert (outputs["flux"]["version"], outputs["flux"]["profile"]) == (FLUX_VERSION, "multi-tenant")
    tenant = outputs["tenants"]["dev-team"]
    assert tenant["namespaces"] == ["apps"]
    assert tenant["url"] == lab.git.ssh_url("dev-team", "apps")
    assert tenant["path"] == "./staging"
    assert tenant["status"] == {"ready": "True", "message": ""}
    kubectl = tenant["look"]["kubectl"].split()[1:]
    assert "dev-team" in staging_stack.cluster.kubectl(*kubectl).stdout


def test_a_push_changes_the_cluster_and_a_removed_file_is_pruned(lab: Lab, staging_stack: Environment) -> None:
    extra = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {made: by-a-push}\n"
    with_extra = "resources: [../base, welcome.yaml, extra.yaml]\n"
    before = (lab.settings.project / "dev/lab/sample/dev-team/apps/staging/kustomization.yaml").read_text()
    header = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

    files: dict[str, str | None] = {
        "staging/extra.yaml": extra,
        "staging/kustomization.yaml": header + with_extra,
    }
    lab.git.commit_files("dev-team", "apps", files, "Add a config map")
    staging_stack.cluster.reconcile("gitrepository", "dev-team", "apps")
    eventually(lambda: staging_stack.cluster.find("configmap", "extra", "apps"), what="the pushed config map")

    files = {"staging/extra.yaml": None, "staging/kustomization.yaml": before}
    lab.git.commit_files("dev-team", "apps", files, "Remove it again")
    staging_stack.cluster.reconcile("gitrepository", "dev-team", "apps")
    eventually(lambda: staging_stack.cluster.find("configmap", "extra", "apps") is None, what="the pruning")


def test_the_platforms_repository_is_applied_with_the_platforms_rights(lab: Lab, staging_stack: Environment) -> None:
    sync = staging_stack.outputs()["flux"]["sync"]
    assert sync["status"] == {"ready": "True", "message": ""}
    assert sync["path"] == "./clusters/staging"
    applied = staging_stack.cluster.get("kustomization", "flux-system", "flux-system")
    assert applied["spec"]["serviceAccountName"] == "kustomize-controller"
    # Cluster-wide, so no tenant could have done it.
    classes = staging_stack.cluster.get("priorityclasses")["items"]
    owner = "kustomize.toolkit.fluxcd.io/name"
    assert [each for each in classes if each["metadata"].get("labels", {}).get(owner) == "flux-system"]
    assert len(lab.git.deploy_keys("platform", "fleet")) == 1
