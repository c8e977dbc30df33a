"""`flux-tenancy tenant offboard`: what is backed up and how, and the two steps in the files."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml
from fake_cluster import FakeCluster, served
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.keys.age_keys import generate
from flux_tenancy.project.errors import OperationError
from tests.support import post_quantum_key

OFFBOARD = ("offboard", "ops-team", "--stack", "staging", "--no-preview")
TOOLS = "namespaces/tools"
LABEL = "toolkit.fluxcd.io/tenant"
MANAGED = {LABEL: "ops-team", "app.kubernetes.io/managed-by": "flux-tenancy"}


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    return tenants_project(tmp_path, monkeypatch)


def discovered(group: str, *kinds: tuple[str, str]) -> dict[str, Any]:
    resources = [
        {"resource": name, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list", "delete"]}
        for name, kind in kinds
    ]
    return {"metadata": {"name": group}, "versions": [{"version": "v1", "resources": resources}]}


def found(name: str, **content: Any) -> dict[str, Any]:
    of_server = {"uid": "1", "resourceVersion": "7", "managedFields": [{}]}
    return {"metadata": {"name": name, "namespace": "tools", **of_server, **content.pop("metadata", {})}, **content}


@pytest.fixture
def cluster(project) -> Iterator[FakeCluster]:
    core = (("configmaps", "ConfigMap"), ("secrets", "Secret"), ("persistentvolumeclaims", "PersistentVolumeClaim"))
    cluster = FakeCluster()
    cluster.answers |= {
        "/api": {"items": [discovered("", *core)]},
        "/apis": {"items": [discovered("apps", ("deployments", "Deployment"))]},
    }
    cluster.objects = {
        "/api/v1/namespaces": [{"metadata": {"name": "tools", "labels": MANAGED}}],
        f"/api/v1/{TOOLS}/configmaps": [
            found("kube-root-ca.crt"),
            found(
                "settings",
                data={"a": "1"},
                metadata={"annotations": {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            ),
            found("owned", metadata={"ownerReferences": [{}]}),
        ],
        f"/api/v1/{TOOLS}/secrets": [found("password", data={"p": "cGE1NXdvcmQ="}, type="Opaque")],
        f"/api/v1/{TOOLS}/persistentvolumeclaims": [
            found(
                "data",
                metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                spec={"volumeName": "pv-1", "storageClassName": "fast"},
            )
        ],
        f"/apis/apps/v1/{TOOLS}/deployments": [found("web", spec={"replicas": 2}, status={"replicas": 2})],
    }
    with served(cluster, project.folder):
        yield cluster


def backup(project: TenantsProject) -> dict[str, str]:
    """The files of the backup by their path in it."""
    [folder] = (project.folder / ".backup/staging/ops-team").iterdir()
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}, "only this user may read it"
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def test_a_backup_has_what_kubectl_restores_and_no_secrets(project, cluster):
    out = project.told(*OFFBOARD)

    files = {name: list(yaml.safe_load_all(text)) for name, text in backup(project).items()}
    assert files == yaml.safe_load("""
        tools/configmaps.yaml:
          - apiVersion: v1
            kind: ConfigMap
            metadata: {name: settings, namespace: tools, annotations: {note: x}}
            data: {a: "1"}
        tools/persistentvolumeclaims.yaml:
          - apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {name: data, namespace: tools}
            spec: {storageClassName: fast}
        tools/deployments.apps.yaml:
          - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: tools}, spec: {replicas: 2}}
    """)
    assert out.startswith(
        "staging: namespace tools has 1 ConfigMap, 1 Deployment, 1 PersistentVolumeClaim, 1 Secret\n"
        "staging: backed up to .backup/staging/ops-team/"
    )
    assert ", without Secrets and without the data of volumes\n" in out


def test_secrets_are_encrypted_for_a_recipient_and_never_in_plain_text(project, cluster):
    identity = generate()

    project.told(*OFFBOARD, "--age", identity.recipient)

    files = backup(project)
    assert not [name for name, text in files.items() if "cGE1NXdvcmQ=" in text]
    key = pyrage.x25519.Identity.from_str(identity.private)
    [secret] = yaml.safe_load_all(pyrage.decrypt(files["tools/secrets.yaml.age"].encode(), [key]))
    assert (secret["apiVersion"], secret["kind"], secret["data"]) == ("v1", "Secret", {"p": "cGE1NXdvcmQ="})


def test_what_cannot_be_read_is_named(project, cluster):
    cluster.forbidden = (f"/apis/apps/v1/{TOOLS}/deployments",)

    assert "staging: Deployment in tools cannot be read, and is not in the backup\n" in project.told(*OFFBOARD)


def test_a_tenant_stays_if_a_part_of_its_backup_fails(project, cluster):
    cluster.broken = (f"/apis/apps/v1/{TOOLS}/deployments",)

    assert "tenant ops-team cannot be backed up: " in project.refused(*OFFBOARD)
    assert "leaving" not in project.read("Pulumi.staging.yaml")


def test_namespaces_that_the_tenant_has_made_are_backed_up_too(project, cluster):
    of_capsule = MANAGED | {"app.kubernetes.io/managed-by": "capsule"}
    of_another = MANAGED | {"app.kubernetes.io/managed-by": "somebody"}
    for name, labels in {"tools-web": of_capsule, "elsewhere": of_another}.items():
        cluster.objects["/api/v1/namespaces"].append({"metadata": {"name": name, "labels": labels}})
        cluster.objects[f"/api/v1/namespaces/{name}/configmaps"] = [found("made")]

    out = project.told(*OFFBOARD)

    assert (project.folder / ".backup/.gitignore").read_text() == "*\n"
    assert "staging: namespace tools-web has 1 ConfigMap\n" in out and "elsewhere" not in out
    assert "tools-web/configmaps.yaml" in backup(project)


def test_a_tenant_stays_if_the_cluster_has_none_of_its_namespaces(project, cluster):
    cluster.objects["/api/v1/namespaces"] = []

    assert "has no namespace of it" in project.refused(*OFFBOARD)
    assert "leaving" not in project.read("Pulumi.staging.yaml")


def applied_to(project, cluster, recorded):
    """Let the stack be applied to a cluster, and the kubeconfig lead to the one with the identity `own`."""
    (project.folder / "outputs").write_text(json.dumps({"cluster": {"uid": recorded}}))
    system = {"metadata": {"name": "kube-system", "uid": "own", "labels": {}}}
    cluster.answers["/api/v1/namespaces"] = {"items": [*cluster.objects["/api/v1/namespaces"], system]}
    cluster.answers["/version/"] = {"gitVersion": "v1.37.0"}


def test_a_tenant_stays_if_the_cluster_is_another_one(project, cluster):
    """With the objects of a namespace of the same name, the backup would be worth nothing."""
    applied_to(project, cluster, "another")

    assert "(FT-OPS-051)" in project.refused(*OFFBOARD)
    assert not (project.folder / ".backup").exists()

    applied_to(project, cluster, "own")
    project.told(*OFFBOARD)


def test_a_tenant_stays_if_nobody_knows_the_stacks_cluster(project, cluster):
    (project.folder / "refusal").write_text("error: no credentials for the backend\n")
    (project.folder / "outputs").mkdir()

    assert "(FT-OPS-014)" in project.refused(*OFFBOARD)


def test_nothing_is_said_of_another_cluster(project, cluster):
    applied_to(project, cluster, "another")

    assert "FT-OPS-051" in project.run("list", "-s", "staging", "-o", "json")[1]
    assert "FT-OPS-051" in project.run("show", "ops-team", "-s", "staging", "-o", "json")[1]
    assert "FT-OPS-051" in project.run("violations", "-s", "staging")[2]


def test_a_tenant_leaves_in_two_steps(project):
    """Without a backup, nothing is asked of the cluster for the first."""
    first = project.told(*OFFBOARD, "--no-backup")
    assert not (project.folder / ".backup").exists()
    assert "        ops-team:\n          state: leaving\n" in project.read("Pulumi.staging.yaml")
    assert first.splitlines()[-2].startswith("staging: this is the first step")

    last = project.told(*OFFBOARD, "--no-backup")
    assert "ops-team" not in project.read("Pulumi.staging.yaml")
    assert "# The second team.\n" in project.read("Pulumi.staging.yaml")
    assert last.splitlines()[-2] == "staging: ops-team leaves for good, with its namespaces."
    assert (project.folder / "tenants/ops-team.yaml").exists()


def of_tenant(kind: str, tenant: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": tenant, "namespace": "tools", "labels": MANAGED | {LABEL: tenant}}}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations", "Kustomization"),
        ("/apis/helm.toolkit.fluxcd.io/v2/helmreleases", "HelmRelease"),
        ("/apis/rbac.authorization.k8s.io/v1/rolebindings", "RoleBinding"),
    ],
)
def test_the_last_step_waits_until_the_first_is_applied(project, cluster, path, kind):
    """Otherwise the next update would delete sync, access and namespaces at once: nothing would be pruned."""
    project.told(*OFFBOARD, "--no-backup")
    cluster.objects[path] = [of_tenant(kind, "ops-team")]

    error = project.refused(*OFFBOARD)

    assert error.startswith(
        f"error: the cluster of stack staging still has {kind} tools/ops-team of tenant ops-team (FT-OPS-318)\n"
        "remedy: run `pulumi up --stack staging` first, "
    )
    assert not (project.folder / ".backup").exists()
    cluster.objects[path] = []
    assert "staging: ops-team leaves for good" in project.told(*OFFBOARD)


def test_each_stack_in_which_the_first_step_is_not_applied_is_told(project, cluster):
    both = (*OFFBOARD, "--stack", "production")
    project.told(*both, "--no-backup")
    cluster.objects["/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"] = [of_tenant("Kustomization", "ops-team")]

    error = project.refused(*both)

    assert all(f"the cluster of stack {stack} still has " in error for stack in ("staging", "production"))


def test_the_syncs_of_other_tenants_do_not_count(project, cluster):
    project.told(*OFFBOARD, "--no-backup")
    cluster.objects["/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"] = [of_tenant("Kustomization", "dev-team")]

    assert "staging: ops-team leaves for good" in project.told(*OFFBOARD)


def test_the_step_is_told_although_the_preview_fails(project, monkeypatch):
    def failing(stack: str, _: Path) -> None:
        raise OperationError(Message("FT-OPS-306", f"the preview of stack {stack} failed"))

    monkeypatch.setattr("flux_tenancy.operations.tenants.lifecycle.show_preview", failing)

    code, out, error = project.run("offboard", "ops-team", "--stack", "staging", "--no-backup")

    assert code == 2 and "staging: this is the first step; " in out and "(FT-OPS-306)" in error


def test_a_full_disk_cuts_off_no_file(project, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copymode", full)

    assert "Pulumi.staging.yaml cannot be written: No space left" in project.refused(*OFFBOARD, "--no-backup")
    assert not list(project.folder.glob(".*.new"))


def test_a_tenant_stays_if_its_backup_fails(project):
    error = project.refused(*OFFBOARD)

    assert "tenant ops-team cannot be backed up: " in error and "(FT-OPS-310)\n" in error and "--no-backup" in error


@pytest.mark.parametrize("recipient", ["age1x", post_quantum_key.RECIPIENT], ids=["not valid", "post-quantum"])
def test_a_recipient_that_cannot_be_encrypted_for_is_refused(project, recipient):
    assert "(FT-OPS-311)" in project.refused(*OFFBOARD, "--age", recipient)


def test_each_stack_without_the_tenant_is_told(project):
    error = project.refused("offboard", "shop", "--no-backup", "--no-preview", "-s", "staging,production")

    assert (
        "shop is not listed in Pulumi.staging.yaml" in error and "shop is not listed in Pulumi.production.yaml" in error
    )
