"""A cluster that `flux bootstrap` had set up before, with a tenant in the platform's repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.flux.release import VERSION_LABEL
from flux_tenancy.components.tenant.limits import SYNCS
from tests.e2e.manifests import kustomization
from tests.support.environment import Environment, base
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import Project
from tests.support.releases import FLUX_VERSION, KUBERNETES_VERSION, OLDER_FLUX_VERSION, OLDER_KUBERNETES

NAME = "adopted"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fleet, namespace: flux-system}\ndata: {is: here}\n"
GOTK_RECONCILER = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "gotk-reconciler"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}],
}
IMAGE_POLICY = {
    "apiVersion": "image.toolkit.fluxcd.io/v1",
    "kind": "ImagePolicy",
    "metadata": {"name": "app", "namespace": "apps"},
    "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": ">=1.0.0"}}},
}
"""Of a controller that the stack does not have: its definition, and so all such objects, are the repository's."""
JOBS = {"path": "./production", "namePrefix": "jobs-", "targetNamespace": "apps"}
"""A sync that the platform's repository has first, and then the stack."""
IMAGE_POLICIES = "_imagepolicies.image.toolkit.fluxcd.io_apiextensions.k8s.io_CustomResourceDefinition"
JOBS_ID = "apps_dev-team-jobs_kustomize.toolkit.fluxcd.io_Kustomization"
ACCESS_ID = "_gotk-reconciler_rbac.authorization.k8s.io_ClusterRoleBinding"
RBAC = ("crd-controller", "cluster-reconciler", "flux-edit", "flux-view", "critical-pods")
"""Roles, bindings and the quota of a release, which have another name in the one that the stack pins."""
FORMER_RIGHTS = ("cluster-reconciler-flux-system", "crd-controller-flux-system")
BEFORE = [
    (FLUX_VERSION, KUBERNETES_VERSION),
    pytest.param((OLDER_FLUX_VERSION, KUBERNETES_VERSION), marks=pytest.mark.exhaustive),
    *(pytest.param((FLUX_VERSION, older), marks=pytest.mark.exhaustive) for older in OLDER_KUBERNETES),
]
"""The release of Flux that the cluster was bootstrapped with, and its Kubernetes; the stack has the first."""


def as_installed(release: str) -> str:
    """A release as `flux install` writes it.

    With its version, which is an older one here, at objects and pods, and with the namespace in the names of `RBAC`.

    Source: kustomizationRolesTmpl in pkg/manifestgen/install/templates.go of flux2
    """
    manifests = list(yaml.load_all(release, FastLoader))
    for manifest in manifests:
        for named in (manifest["metadata"], manifest.get("roleRef", {})):
            if named.get("name") in RBAC:
                named["name"] += "-flux-system"
        templates = [manifest["spec"]["template"]] if manifest["kind"] == "Deployment" else []
        for labelled in (manifest, *templates):
            labelled["metadata"].setdefault("labels", {})[VERSION_LABEL] = "v2.9.0"
    return yaml.safe_dump_all(manifests)


class Bootstrapped:
    """A cluster in which Flux applies itself, and a tenant, from the platform's repository."""

    def __init__(self, lab: Lab, cluster: RunningCluster, release: str, repository: str, folder: Path) -> None:
        self.lab = lab
        self.cluster = cluster
        self.release = as_installed(Path(lab.bundle(release)["manifests"]["bundle"]).read_text())
        self.repository = ("bootstrapped", repository)
        files = {
            "clusters/adopted/flux-system/gotk-components.yaml": self.release,
            "clusters/adopted/flux-system/gotk-sync.yaml": yaml.safe_dump_all(self._sync()),
            "clusters/adopted/flux-system/kustomization.yaml": yaml.safe_dump(
                {"resources": ["gotk-components.yaml", "gotk-sync.yaml"]}
            ),
            "clusters/adopted/fleet.yaml": CONFIG_MAP,
            "clusters/adopted/access.yaml": yaml.safe_dump(GOTK_RECONCILER),
            "clusters/adopted/dev-team.yaml": yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": "apps", "labels": {"toolkit.fluxcd.io/tenant": "dev-team"}},
                }
            ),
            "clusters/adopted/jobs.yaml": yaml.safe_dump(kustomization("dev-team-jobs", **JOBS)),
        }
        lab.repository(*self.repository, files, folder)

    def _sync(self) -> list[dict[str, Any]]:
        metadata = {"name": "flux-system", "namespace": "flux-system"}
        source = {"interval": "1m0s", "ref": {"branch": "main"}, "url": self.lab.git.url(*self.repository)}
        return [
            {
                "apiVersion": "source.toolkit.fluxcd.io/v1",
                "kind": "GitRepository",
                "metadata": metadata,
                "spec": source,
            },
            {
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
                "kind": "Kustomization",
                "metadata": metadata,
                "spec": {
                    "interval": "10m0s",
                    "path": "./clusters/adopted",
                    "prune": True,
                    "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
                },
            },
        ]

    def bootstrap(self) -> None:
        """What `flux bootstrap` does: apply the release, then the sync that goes on applying it."""
        for text in (self.release, yaml.safe_dump_all(self._sync())):
            done = self.cluster.kubectl("apply", "--server-side", "--field-manager=flux", "-f", "-", stdin=text)
            assert done.returncode == 0, done.stderr
            self.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        eventually(lambda: self.cluster.find("namespace", "apps"), timeout=120, what="the tenant from Git")
        eventually(lambda: self.cluster.ready("kustomization", "flux-system", "flux-system")[0] == "True", timeout=120)
        self.cluster.apply(IMAGE_POLICY)

    def objects(self) -> dict[str, str]:
        """uid of everything that Flux has applied, and of the two objects of its sync."""
        inventory = self.cluster.get("kustomization", "flux-system", "flux-system")["status"]["inventory"]["entries"]
        return self.uids(entry["id"] for entry in inventory)

    def uids(self, ids: Iterable[str]) -> dict[str, str]:
        """uid of each object of an inventory."""
        kinds = {"Deployment", "CustomResourceDefinition", "Service", "ServiceAccount", "NetworkPolicy", "ClusterRole"}
        kinds |= {"ClusterRoleBinding", "Namespace", "GitRepository", "Kustomization", "ConfigMap", "ResourceQuota"}
        found = {}
        for each in ids:
            namespace, name, group, kind = each.split("_")
            assert kind in kinds, kind
            object_ = self.cluster.find(f"{kind}.{group}" if group else kind, name, namespace or None)
            found[each] = object_["metadata"]["uid"] if object_ else "gone"
        return found

    def remove(self, *files: str) -> None:
        """Remove files from the repository, and wait until Flux has applied that."""
        lost: dict[str, str | None] = {f"clusters/adopted/{file}": None for file in files}
        self.lab.git.commit_files(*self.repository, lost, "Leave it to Pulumi")
        reconcile_platform(self.cluster)


@pytest.fixture(params=BEFORE, ids="-".join)
def bootstrapped(lab: Lab, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bootstrapped]:
    release, kubernetes = request.param
    with lab.cluster(NAME, kubernetes) as own:
        cluster = Bootstrapped(lab, own, release, f"fleet-{release}-{kubernetes}", tmp_path)
        cluster.bootstrap()
        yield cluster


def test_a_bootstrapped_cluster_is_adopted_without_replacing_an_object(
    lab: Lab, project: Project, bootstrapped: Bootstrapped
) -> None:
    cluster, before = bootstrapped.cluster, bootstrapped.objects()
    assert len(before) > 30
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
    stack = Environment(lab, project, cluster, flux=lab.bundle())
    stack.config["flux"]["sync"] = {"source": stack.private_source(*bootstrapped.repository)}
    stack.onboard("dev-team", "./staging")
    stack.write()

    refused = project.up(NAME)
    assert not refused.succeeded
    assert "(FT-CLU-105)" in refused.text
    assert bootstrapped.objects() == before

    stack.config["cluster"]["adopt"] = True
    stack.write()
    preview = project.run("preview", "--diff", "--stack", NAME)
    assert preview.succeeded, preview.text
    assert "--no-cross-namespace-refs=true" in preview.text
    # Access that the platform's repository gives to the tenant stays, and is reported.
    beside = (
        "ClusterRoleBinding gotk-reconciler for ServiceAccount apps/dev-team: "
        "ClusterRole cluster-admin adds everything in the whole cluster"
    )
    assert f"warning: tenant dev-team has rights beyond its role: {beside}" in preview.text
    # As are the bindings that bootstrap has made for the controllers. That of kustomize-controller applies the sync.
    assert further_controller_rights(preview.text) == {
        "cluster-reconciler-flux-system": {"helm-controller"},
        "crd-controller-flux-system": {"helm-controller", "notification-controller", "source-controller"},
    }
    imported = project.imports(NAME)
    assert "Deployment flux-system/kustomize-controller" in imported
    assert "GitRepository flux-system/flux-system" in imported
    assert "Namespace apps" in imported
    assert bootstrapped.objects() == before

    stack.up()
    # What the stack does not have stays as it was.
    older = {name for name, version in released(cluster).items() if version != f"v{FLUX_VERSION}"}
    assert older == {"image-automation-controller", "image-reflector-controller", "source-watcher"}
    assert {key: uid for key, uid in bootstrapped.objects().items() if before.get(key) not in (None, uid)} == {}
    told = stack.outputs()["tenants"]["dev-team"]
    assert (told["status"]["ready"], told["furtherAccess"]) == ("True", [beside])
    # A quota counts what was there before: the sync of the repository, beside that of the stack.
    assert cluster.get("resourcequota", "dev-team-flux-objects", "apps")["status"]["used"][SYNCS] == "2"

    # The platform's repository still has the release as it was, and does not take back what Pulumi has changed. As
    # docs/adoption.md says, the release leaves the repository while nothing is pruned.
    reconcile_platform(cluster)
    assert stack.changes() == {}
    stack.config["flux"]["sync"]["prune"] = False
    stack.up()
    there = bootstrapped.objects()
    assert IMAGE_POLICIES in there and "gone" not in there.values()
    image_policy = cluster.get("imagepolicy", "app", "apps")["metadata"]["uid"]
    release = ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")
    bootstrapped.remove(*(f"flux-system/{file}" for file in release))
    eventually(lambda: len(bootstrapped.objects()) < 10, what="the inventory without the release")
    assert bootstrapped.uids(there) == there
    del there[JOBS_ID]

    # Nothing needs the rights that the controllers had before.
    bindings = {f"_{name}_rbac.authorization.k8s.io_ClusterRoleBinding": name for name in FORMER_RIGHTS}
    assert bindings.keys() <= there.keys()
    for deletion in set(re.findall("`kubectl (delete clusterrolebinding .*?)`", preview.text)):
        cluster.kubectl(*deletion.split())
    assert {name for name in FORMER_RIGHTS if cluster.find("clusterrolebinding", name)} == set()

    # A sync of the repository has a name that the stack needs now.
    job = eventually(lambda: cluster.find("deployment", "jobs-guestbook", "apps"), what="what the sync applies")
    del stack.config["cluster"]["adopt"], stack.config["flux"]["sync"]["prune"]
    stack.config["tenants"]["dev-team"]["syncs"] = {"dev-team-jobs": JOBS}
    stack.write()
    refused = project.up(NAME)
    assert not refused.succeeded
    suspend, delete = (re.search(f"`{start} (.*?)`", refused.text) for start in ("flux suspend", "kubectl delete"))
    assert suspend and delete and "(FT-CLU-114)" in refused.text
    suspended = json.dumps({"spec": {"suspend": True}})
    cluster.kubectl("patch", *suspend[1].split(), "--type=merge", f"--patch={suspended}", "--field-manager=flux")
    bootstrapped.remove("jobs.yaml")
    cluster.kubectl("delete", *delete[1].split())
    assert further_controller_rights(stack.up()) == {}
    taken = cluster.get("kustomization", "dev-team-jobs", "apps")
    assert "toolkit.fluxcd.io/tenant" in taken["metadata"]["labels"]
    eventually(lambda: cluster.ready("kustomization", "dev-team-jobs", "apps")[0] == "True", timeout=120)
    assert cluster.get("deployment", "jobs-guestbook", "apps")["metadata"]["uid"] == job["metadata"]["uid"]

    # With pruning, only what the stack has not taken over goes with its file.
    assert cluster.get("kustomization", "flux-system", "flux-system")["spec"]["prune"]
    bootstrapped.remove("dev-team.yaml", "access.yaml")
    eventually(lambda: len(bootstrapped.objects()) == 1, what="the inventory without what left the repository")
    assert bootstrapped.uids(there) == there | dict.fromkeys((ACCESS_ID, *bindings), "gone")
    assert cluster.get("imagepolicy", "app", "apps")["metadata"]["uid"] == image_policy
    assert stack.changes() == {}
    assert project.destroy(NAME).succeeded
    assert lab.git.deploy_keys(*bootstrapped.repository) == []


def further_controller_rights(text: str) -> dict[str, set[str]]:
    """The controllers that each binding gives rights beyond the stack's, as the warnings of an update say."""
    warned = re.findall(r"rights beyond the stack's: ClusterRoleBinding (\S+) for (.*?): ClusterRole ", text)
    return {name: set(re.findall("ServiceAccount flux-system/([a-z-]+)", subjects)) for name, subjects in warned}


def released(cluster: RunningCluster) -> dict[str, str]:
    """The versions that `flux version` and `flux check` read, by the names of what has them."""
    found = [cluster.get("crd", "gitrepositories.source.toolkit.fluxcd.io"), cluster.get("namespace", "flux-system")]
    found += cluster.get("deployments", "", "flux-system")["items"]
    return {each["metadata"]["name"]: each["metadata"]["labels"][VERSION_LABEL] for each in found}


def reconcile_platform(cluster: RunningCluster) -> None:
    """Fetch and apply the platform's repository now, after whatever is being applied."""
    for kind in ("gitrepository", "kustomization"):
        cluster.reconciled(kind, "flux-system", "flux-system", timeout=120)
    eventually(lambda: cluster.ready("kustomization", "flux-system", "flux-system")[0] == "True", timeout=120)
