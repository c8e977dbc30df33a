"""What an attacker with the token of a controller could do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.manifests import git_repository, kustomization, namespace
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.stolen import Allowed, Stolen, touching

CONTROLLERS = ("kustomize-controller", "helm-controller")
SERVING = ("source-controller", "notification-controller")
WRITING = {"create", "update", "patch", "delete", "deletecollection", "*"}
NAMED_GROUPS = {f"{name}.toolkit.fluxcd.io" for name in ("source", "kustomize", "helm", "image")}
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
PROJECT = Path(__file__).parents[3]
PLATFORM = ("default", "flux-system", "kube-system")


@pytest.fixture(params=CONTROLLERS)
def stolen(production_stack: Environment, tmp_path: Path, request: pytest.FixtureRequest) -> Stolen:
    """On a cluster without a repository of the platform's own."""
    return Stolen(production_stack.cluster, request.param, tmp_path)


def test_a_controller_may_impersonate_nobody_and_read_no_secret_in_the_platforms_namespaces(stolen: Stolen) -> None:
    for place in PLATFORM:
        allowed = stolen.allowed(place)

        assert not [each for each in allowed if "*" in each[:2] or each[0] in ("impersonate", "bind", "escalate")]
        assert not touching(allowed, "secrets", "configmaps", "serviceaccounts/token", "pods")
        assert "is forbidden" in stolen.kubectl("get", "secrets", "-n", place).stderr


def test_a_controller_may_impersonate_the_tenant_and_read_referenced_objects_in_its_namespace(stolen: Stolen) -> None:
    allowed = stolen.allowed("apps")

    assert {each for each in allowed if each[0] == "impersonate"} == {
        ("impersonate", "serviceaccounts", ("dev-team", "default"))
    }
    assert touching(allowed, "secrets", "configmaps") == {("get", "secrets", ()), ("get", "configmaps", ())}
    # The control: so the tenant is served.
    assert stolen.kubectl("get", "pods", "-n", "apps", "--as=system:serviceaccount:apps:dev-team").returncode == 0


@pytest.mark.parametrize("controller", SERVING)
def test_a_controller_that_impersonates_nobody_gets_secrets_only_of_tenants_and_of_the_platforms_sync(
    production_stack: Environment, staging_stack: Environment, tmp_path: Path, controller: str
) -> None:
    stolen = Stolen(production_stack.cluster, controller, tmp_path)

    for place in PLATFORM:
        allowed = stolen.allowed(place)
        assert not [each for each in allowed if "*" in each[:2] or each[0] in ("impersonate", "bind", "escalate")]
        assert not touching(allowed, "secrets", "configmaps", "serviceaccounts/token", "pods")
        assert "is forbidden" in stolen.kubectl("get", "secrets", "-n", place).stderr
    (tmp_path / "syncing").mkdir()
    syncing = Stolen(staging_stack.cluster, controller, tmp_path / "syncing")
    for reading, place in ((stolen, "apps"), (syncing, "flux-system")):
        allowed = reading.allowed(place)
        assert touching(allowed, "secrets", "configmaps", "serviceaccounts/token") == {("get", "secrets", ())}
        assert "is forbidden" in reading.kubectl("get", "secrets", "-n", place).stderr
        # The control: so a source's credentials are read.
        found = reading.kubectl("get", "secret", "none", "-n", place).stderr
        assert "NotFound" in found


def test_source_controller_writes_no_object_of_others(production_stack: Environment, tmp_path: Path) -> None:
    allowed = Stolen(production_stack.cluster, "source-controller", tmp_path).allowed("apps")

    written = {resource for verb, resource, _ in allowed if verb in WRITING}
    assert {each for each in written if not each.endswith((".authorization.k8s.io", ".authentication.k8s.io"))} == {
        "events",
        *(
            f"{kind}{part}.source.toolkit.fluxcd.io"
            for kind in ("buckets", "gitrepositories", "helmcharts", "helmrepositories", "ocirepositories")
            for part in ("", "/status", "/finalizers")
        ),
    }


def test_notification_controller_patches_only_what_receivers_may_name(
    production_stack: Environment, staging_stack: Environment, tmp_path: Path
) -> None:
    """Staging has a source with a webhook; in production one of two tenants may write Receivers."""
    (tmp_path / "staging").mkdir()
    production = Stolen(production_stack.cluster, "notification-controller", tmp_path)
    staging = Stolen(staging_stack.cluster, "notification-controller", tmp_path / "staging")

    def patched(stolen: Stolen, place: str) -> Allowed:
        return {
            each
            for each in stolen.allowed(place)
            if each[0] in WRITING and each[1].partition(".")[2] in NAMED_GROUPS and "/" not in each[1]
        }

    for stolen, place in ((production, "default"), (production, "flux-system"), (production, "apps")):
        assert patched(stolen, place) == set()
    assert patched(staging, "flux-system") == set()
    assert patched(staging, "apps") == {("patch", "gitrepositories.source.toolkit.fluxcd.io", ("dev-team",))}
    # The control: so a tenant's own Receivers work.
    assert ("patch", "kustomizations.kustomize.toolkit.fluxcd.io", ()) in patched(production, "tools")


def test_notification_controller_changes_nothing_but_annotations(staging_stack: Environment, tmp_path: Path) -> None:
    stolen = Stolen(staging_stack.cluster, "notification-controller", tmp_path)

    def patched(content: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        source = ("gitrepository", "dev-team", "-n", "apps")
        return stolen.kubectl("patch", *source, "--type=merge", "--dry-run=server", "-p", json.dumps(content))

    for changed in ({"spec": {"suspend": True}}, {"metadata": {"labels": {"by": "hand"}}}):
        assert "changes annotations of Flux's objects, and nothing else" in patched(changed).stderr
    # The control: so a webhook is announced.
    asked = patched({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}})
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize(
    "identity",
    [
        ("--as=kubernetes-admin",),
        ("--as=system:serviceaccount:apps:dev-team", "--as-group=system:masters"),
        ("--as=system:serviceaccount:flux-system:kustomize-controller",),
        ("--as=system:serviceaccount:flux-system:source-controller",),
        ("--as=system:serviceaccount:kube-system:namespace-controller",),
        ("--as=system:serviceaccount:apps:another",),
    ],
)
def test_a_controller_may_impersonate_nobody_else(stolen: Stolen, identity: tuple[str, ...]) -> None:
    refused = stolen.kubectl("get", "namespaces", *identity)

    assert "cannot impersonate" in refused.stderr


def test_the_tenants_of_two_namespaces_are_kept_apart(stolen: Stolen) -> None:
    refused = stolen.kubectl("get", "pods", "-n", "tools", "--as=system:serviceaccount:apps:flux")

    assert "cannot impersonate" in refused.stderr
    # Whose account has another name.
    assert stolen.kubectl("get", "pods", "-n", "tools", "--as=system:serviceaccount:tools:flux").returncode == 0


def test_only_kustomize_controller_may_impersonate_the_account_of_the_platforms_sync(
    staging_stack: Environment, tmp_path: Path
) -> None:
    found = {
        controller: {
            each
            for each in Stolen(staging_stack.cluster, controller, tmp_path).allowed("flux-system")
            if each[0] == "impersonate"
        }
        for controller in CONTROLLERS
    }

    assert found == {
        "kustomize-controller": {("impersonate", "serviceaccounts", ("kustomize-controller", "default"))},
        "helm-controller": set(),
    }


@pytest.fixture
def infra(lab: Lab, staging_stack: Environment, tmp_path: Path) -> Iterator[str]:
    """A namespace of the platform's with a sync and the account that it names, which may write ConfigMaps there."""
    cluster, place = staging_stack.cluster, "infra"
    url = lab.repository("mallory", "infra", {"staging/note.yaml": NOTE}, tmp_path)
    cluster.apply(namespace(place, {}))
    cluster.kubectl("create", "serviceaccount", "applier", "-n", place)
    cluster.kubectl(
        "create", "rolebinding", "edit", "-n", place, "--clusterrole=edit", f"--serviceaccount={place}:applier"
    )
    cluster.apply(git_repository("infra", url, place))
    cluster.apply(kustomization("infra", "infra", place=place, serviceAccountName="applier"))
    yield place
    cluster.kubectl("delete", "kustomization", "infra", "-n", place)
    cluster.kubectl("delete", "namespace", place)


def test_a_platform_sync_in_another_namespace_needs_the_role_from_the_docs(
    staging_stack: Environment, infra: str
) -> None:
    cluster = staging_stack.cluster

    # Flux asks for the kinds of the cluster first, as the account, and tells no more of the refusal.
    cluster.refusal("kustomization", "infra", infra, saying="(Forbidden): failed to get server groups")

    page = (PROJECT / "docs" / "lockdown.md").read_text(encoding="utf-8")
    documented = page.split("```yaml\n")[-1].split("```")[0]
    for manifest in yaml.safe_load_all(documented):
        cluster.apply(manifest)
    cluster.reconcile("kustomization", "infra", infra)
    eventually(lambda: cluster.ready("kustomization", "infra", infra)[0] == "True")
    assert cluster.find("configmap", "note", infra) is not None


CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: greeting\nversion: 0.1.0\n",
    "chart/templates/greeting.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\n"
    "data: {text: {{ .Values.text | quote }}}\n",
}


def test_a_tenants_release_is_installed_with_its_values_and_uninstalled(
    lab: Lab, staging_stack: Environment, tmp_path: Path
) -> None:
    """helm-controller makes the chart, reads the values and acts as the tenant; the tenant makes everything else."""
    cluster, tenant = staging_stack.cluster, "system:serviceaccount:apps:dev-team"
    values = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "greeting-values", "namespace": "apps"},
        "stringData": {"values.yaml": "text: hello\n"},
    }
    source = {"kind": "GitRepository", "name": "greeting"}
    spec = {
        "interval": "1h",
        "serviceAccountName": "dev-team",
        "chart": {"spec": {"chart": "./chart", "sourceRef": source}},
        "valuesFrom": [{"kind": "Secret", "name": "greeting-values"}],
    }
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "greeting", "namespace": "apps"},
        "spec": spec,
    }
    repository = git_repository("greeting", lab.repository("mallory", "greeting", CHART, tmp_path))
    for manifest in (values, repository, release):
        assert not cluster.create(manifest, user=tenant)

    eventually(lambda: cluster.ready("helmrelease", "greeting", "apps")[0] == "True")
    assert cluster.get("configmap", "greeting", "apps")["data"] == {"text": "hello"}
    assert cluster.find("helmchart", "apps-greeting", "apps") is not None

    for kind in ("helmrelease", "gitrepository"):
        cluster.kubectl("delete", kind, "greeting", "-n", "apps", user=tenant)
    cluster.kubectl("delete", "secret", "greeting-values", "-n", "apps", user=tenant)
    assert cluster.find("configmap", "greeting", "apps") is None
    assert cluster.find("helmchart", "apps-greeting", "apps") is None
