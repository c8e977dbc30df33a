"""Onboarding by label with the real Kyverno: a labelled namespace is provisioned, and kept so."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from flux_tenancy.components.cluster.hooks import wait_for
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.kyverno import generated_by
from flux_tenancy.components.policies.kyverno_only import onboarding
from flux_tenancy.components.tenant.config import TenancyConfig
from tests.e2e.manifests import git_repository, kustomization, namespace
from tests.e2e.policies.given import OLDER, TENANCY
from tests.support.earlier_program import Upgraded
from tests.support.environment import Environment
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.releases import FLUX_VERSION

LABEL = "toolkit.fluxcd.io/tenant"
BACKGROUND_CONTROLLER = "system:serviceaccount:kyverno:kyverno-background-controller"
KINDS = ("serviceaccount", "rolebinding", "limitrange", "resourcequota", "networkpolicy")
_numbers = itertools.count(1)


def named(cluster: RunningCluster, place: str) -> set[tuple[str, str]]:
    """Kind and name of the objects that a namespace was provisioned with."""
    return {
        (item["kind"], item["metadata"]["name"])
        for kind in KINDS
        for item in cluster.get(kind, namespace=place)["items"]
        if LABEL in item["metadata"].get("labels", {})
    }


def template(tenant: str, place: str) -> list[dict[str, Any]]:
    flux = FluxConfig(version=FLUX_VERSION, sha256="0" * 64)
    _, policy = onboarding(TenancyConfig.model_validate(TENANCY), flux)
    return generated_by(policy, tenant, place)


def expected(tenant: str, place: str) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in template(tenant, place)}


def is_provisioned(cluster: RunningCluster, tenant: str, place: str) -> bool:
    return named(cluster, place) == expected(tenant, place)


@pytest.fixture(scope="module")
def cluster(kyverno_stack: Environment) -> RunningCluster:
    return kyverno_stack.cluster


@pytest.fixture
def shop(cluster: RunningCluster) -> str:
    """A provisioned namespace of the tenant blue-team; each test has its own."""
    name = f"shop-{next(_numbers)}"
    cluster.apply(namespace(name, {LABEL: "blue-team"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", name))
    return name


def content(manifest: dict[str, Any]) -> dict[str, Any]:
    """An object without the fields that the API server and Kyverno add."""
    metadata = manifest["metadata"]
    kept = {"name": metadata["name"], "namespace": metadata["namespace"], "labels": {LABEL: metadata["labels"][LABEL]}}
    body = {key: value for key, value in manifest.items() if key not in ("metadata", "status")}
    return body | {"metadata": kept}


def test_a_stack_that_the_earlier_program_applied_does_not_change(upgraded_stack: Upgraded) -> None:
    assert upgraded_stack.changes == {}


@pytest.mark.parametrize(("kind", "answer"), [("resourcequotas", "yes"), ("configmaps", "no"), ("roles", "no")])
def test_kyverno_may_create_only_what_onboarding_needs(cluster: RunningCluster, kind: str, answer: str) -> None:
    said = cluster.kubectl("auth", "can-i", "create", kind, "-n", OLDER, user=BACKGROUND_CONTROLLER).stdout

    assert said == f"{answer}\n"


def test_a_labelled_namespace_gets_what_a_listed_tenant_has(cluster: RunningCluster, shop: str) -> None:
    for manifest in template("blue-team", shop):
        found = cluster.get(manifest["kind"], manifest["metadata"]["name"], shop)
        assert content(found) == manifest

    labels = cluster.get("namespace", shop)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert cluster.get("namespace", shop)["metadata"]["annotations"]["flux-tenancy/namespaces"] == shop


def test_the_platform_may_choose_another_pod_security(cluster: RunningCluster) -> None:
    cluster.apply(namespace("batch", {LABEL: "blue-team", "pod-security.kubernetes.io/enforce": "baseline"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", "batch"))

    labels = cluster.get("namespace", "batch")["metadata"]["labels"]

    assert labels["pod-security.kubernetes.io/enforce"] == "baseline"


def test_changed_or_removed_objects_are_restored_repeatedly(cluster: RunningCluster, shop: str) -> None:
    policy = ("networkpolicy", "blue-team-default-deny", shop)
    egress = cluster.get(*policy)["spec"]["egress"]

    def is_restored_from(port: int) -> bool:
        change = json.dumps({"spec": {"egress": [{"ports": [{"port": port}]}]}})
        cluster.kubectl("patch", *policy[:2], "-n", shop, "--type=merge", "-p", change)
        return wait_for(lambda: None if cluster.get(*policy)["spec"]["egress"] == egress else "open", 5) is None

    # Kyverno begins to follow what it has generated in a namespace after it is all there, and then all at once.
    assert any(is_restored_from(port) for port in range(1, 13))
    for _ in range(2):
        for kind, name in expected("blue-team", shop):
            cluster.kubectl("delete", kind, name, "-n", shop)
        eventually(lambda: is_provisioned(cluster, "blue-team", shop))


def test_the_limits_apply_to_the_tenant(cluster: RunningCluster, shop: str) -> None:
    user = f"system:serviceaccount:{shop}:blue-team"
    said = [
        cluster.create(git_repository(f"source-{number}", "https://git.example.com/a/b", shop), user=user)
        for number in range(5)
    ]

    # One more than the limit, which is the platform's to use.
    assert said[:4] == [""] * 4
    assert "exceeded quota: blue-team-flux-objects" in said[4]
    assert "forbidden" in cluster.kubectl("delete", "resourcequota", "--all", "-n", shop, user=user).stderr


def test_a_kustomization_in_it_runs_as_the_tenant(lab: Lab, cluster: RunningCluster, shop: str, tmp_path: Path) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: power\nrules: []\n"
    note = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n"
    files = {"ours/note.yaml": note, "theirs/role.yaml": role}
    url = lab.repository("blue-team", "shop", files, tmp_path)
    cluster.apply(git_repository("shop", url, shop))
    for path in ("ours", "theirs"):
        cluster.apply(kustomization(path, "shop", place=shop, path=f"./{path}", serviceAccountName="blue-team"))

    eventually(lambda: cluster.ready("kustomization", "ours", shop)[0] == "True")
    refusal = cluster.refusal("kustomization", "theirs", shop, saying="forbidden")

    assert cluster.find("configmap", "note", shop) is not None
    assert f'User "system:serviceaccount:{shop}:blue-team" cannot patch resource "clusterroles"' in refusal


def test_another_label_hands_it_to_another_tenant(cluster: RunningCluster, shop: str) -> None:
    cluster.kubectl("label", "namespace", shop, "--overwrite", f"{LABEL}=red-team")

    eventually(lambda: is_provisioned(cluster, "red-team", shop))

    spec = cluster.get("networkpolicy", "red-team-default-deny", shop)["spec"]
    assert spec["ingress"] == [{"from": [{"namespaceSelector": {"matchLabels": {LABEL: "red-team"}}}]}]


def test_without_the_label_it_belongs_to_no_tenant(cluster: RunningCluster, shop: str) -> None:
    cluster.kubectl("label", "namespace", shop, f"{LABEL}-")

    eventually(lambda: not named(cluster, shop))

    assert cluster.find("namespace", shop) is not None


def test_a_tenant_may_have_several_namespaces_without_access_between_them(cluster: RunningCluster, shop: str) -> None:
    cluster.apply(namespace("shop-jobs", {LABEL: "blue-team"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", "shop-jobs"))

    [subject] = cluster.get("rolebinding", "blue-team-reconciler", "shop-jobs")["subjects"]

    assert subject == {"kind": "ServiceAccount", "name": "blue-team", "namespace": "shop-jobs"}


@pytest.mark.parametrize("tenant", ["flux-system", "kube-fans", "kyverno", "Blue"])
def test_an_invalid_tenant_name_is_refused(cluster: RunningCluster, tenant: str) -> None:
    said = cluster.create(namespace("asked", {LABEL: tenant}), "--dry-run=server")

    assert f"label {LABEL} {tenant} is not a valid tenant name" in said


@pytest.mark.parametrize("mark", [(), ("app.kubernetes.io/managed-by=flux-tenancy",)], ids=["", "as of the stack"])
@pytest.mark.parametrize("name", ["flux-system", "kube-system", "kyverno"])
def test_the_label_is_refused_on_a_namespace_of_the_cluster(
    cluster: RunningCluster, name: str, mark: tuple[str, ...]
) -> None:
    """Kyverno's webhooks are not called for two of them."""
    said = cluster.kubectl("label", "namespace", name, f"{LABEL}=blue-team", *mark).stderr

    assert f"namespace {name} is not a valid tenant name" in said


def test_a_namespace_of_a_listed_tenant_is_left_to_pulumi(cluster: RunningCluster, shop: str) -> None:
    listed = {LABEL: "listed-team", "app.kubernetes.io/managed-by": "flux-tenancy"}
    cluster.apply(namespace("listed", listed))
    # A later namespace is provisioned, so this one would be by now.
    cluster.apply(namespace("after", {LABEL: "blue-team"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", "after"))

    assert named(cluster, "listed") == set()
    assert "pod-security.kubernetes.io/enforce" not in cluster.get("namespace", "listed")["metadata"]["labels"]


def test_a_namespace_older_than_the_policies_waits_for_its_pod_security(cluster: RunningCluster) -> None:
    assert named(cluster, OLDER) == set()

    cluster.kubectl("annotate", "namespace", OLDER, "touched=yes")

    eventually(lambda: is_provisioned(cluster, "older-team", OLDER))
    labels = cluster.get("namespace", OLDER)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_a_restarted_background_controller_goes_on(cluster: RunningCluster, shop: str) -> None:
    deployment = "deployment/kyverno-background-controller"
    cluster.kubectl("rollout", "restart", "-n", "kyverno", deployment)
    cluster.kubectl("rollout", "status", "-n", "kyverno", deployment, "--timeout=120s")

    cluster.kubectl("annotate", "namespace", shop, "touched=yes")
    cluster.kubectl("delete", "resourcequota", "blue-team-flux-objects", "-n", shop)

    eventually(lambda: is_provisioned(cluster, "blue-team", shop))


def test_a_namespace_can_be_deleted_with_everything_in_it(cluster: RunningCluster) -> None:
    cluster.apply(namespace("short", {LABEL: "blue-team"}))
    eventually(lambda: is_provisioned(cluster, "blue-team", "short"))

    done = cluster.kubectl("delete", "namespace", "short", "--timeout=60s")

    assert done.returncode == 0, done.stderr
    assert cluster.find("namespace", "short") is None
