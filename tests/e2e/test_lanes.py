"""Lanes on real controllers: each serves its own tenants, and a running stack changes to lanes and back."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from flux_tenancy.components.vocabulary.names import LANE_LABEL
from tests.e2e.manifests import git_repository, kustomization
from tests.support.environment import Environment
from tests.support.isolation import run
from tests.support.lab import Lab, RunningCluster, eventually, ready
from tests.support.project import Project
from tests.support.stolen import Stolen, touching

NAME, ORGANIZATION = "lanes", "lanes"
SHOP, REPORTS = "shop", "reports"
# What fails while controllers and rights change, Flux tries again after its retry interval.
_RETRY_INTERVAL = "30s"
_SETTLED_SECONDS = 200
LANES: dict[str, Any] = {"tenants": {}, "batch": {}}
CONTROLLERS = ("source-controller", "kustomize-controller", "helm-controller")
SYNCS = [("flux-system", "flux-system"), *((name, place) for place in (SHOP, REPORTS) for name in (place, "child"))]
"""Each Kustomization with its namespace: those of the stack, and one in each tenant's repository."""


def note(name: str, namespace: str, text: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


def repository(lab: Lab, tenant: str, text: str = "1") -> dict[str, str]:
    """A tenant's repository: an object, and a sync of another folder from a source of its own."""
    source = git_repository("child", lab.git.url(ORGANIZATION, tenant), tenant)
    child = kustomization("child", "child", place=tenant, path="./child", retryInterval=_RETRY_INTERVAL)
    # The stack sets the tenant's.
    del child["spec"]["serviceAccountName"]
    files = {"staging/all.yaml": [note("parent", tenant, text), source, child], "child/all.yaml": [note("kid", tenant)]}
    return {path: yaml.safe_dump_all(manifests) for path, manifests in files.items()}


@pytest.fixture(scope="module")
def stack(lab: Lab, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("repositories")
    for tenant in (SHOP, REPORTS):
        url = lab.repository(ORGANIZATION, tenant, repository(lab, tenant), folder)
        source = {"url": url, "interval": "30s"}
        project.tenant(tenant, {"namespaces": [{"name": tenant}], "source": source, "sync": {"path": "./staging"}})
    platform = {"clusters/lanes/note.yaml": yaml.safe_dump(note("platform", "default"))}
    sync = {"source": {"url": lab.repository(ORGANIZATION, "platform", platform, folder)}}
    with lab.cluster(NAME) as cluster:
        environment = Environment(lab, project, cluster, flux=lab.bundle() | {"sync": sync, "setAccounts": True})
        environment.config["policies"] = {"engine": "native", "sources": {"allowed": ["*"], "plainHttp": True}}
        environment.config["tenants"] = {SHOP: {}, REPORTS: {}}
        environment.up()
        yield environment


def objects(cluster: RunningCluster, kinds: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Namespace, name and content of all objects of these kinds."""
    for each in cluster.get(kinds)["items"]:
        yield each["metadata"]["namespace"], f"{each['kind']} {each['metadata']['name']}", each


def applied(cluster: RunningCluster) -> dict[str, str]:
    """The uid of everything that Flux applies, and of every sync: none changes unless an object is replaced."""
    return {
        f"{place}/{name}": each["metadata"]["uid"]
        for place, name, each in objects(cluster, "configmaps,kustomizations,gitrepositories")
        if place in (SHOP, REPORTS) and not name.startswith("ConfigMap kube-")
    }


def settled(stack: Environment, shop: str, reports: str) -> None:
    """Everything is served by its lane, and ready."""
    lanes = {"flux-system": "", SHOP: shop, REPORTS: reports}

    def unsettled() -> list[str]:
        syncs = list(objects(stack.cluster, "gitrepositories,kustomizations"))
        wrong = [
            f"{place}/{name}: {each['metadata'].get('labels')}, {ready(each)[1]}"
            for place, name, each in syncs
            if each["metadata"].get("labels", {}).get(LANE_LABEL, "") != lanes[place] or ready(each)[0] != "True"
        ]
        if len(syncs) != 2 * len(SYNCS):
            wrong.append(f"only {[name for _, name, _ in syncs]}")
        urls = {(lanes[place], each.get("status", {}).get("artifact", {}).get("url", "")) for place, _, each in syncs}
        served = {(lane, urlsplit(url).netloc) for lane, url in urls if url}
        if not len(served) == len(set(lanes.values())) == len({server for _, server in served}):
            wrong.append(f"artifact servers: {served}")
        return wrong

    begin = time.monotonic()
    while wrong := unsettled():
        assert time.monotonic() < begin + _SETTLED_SECONDS, wrong
        time.sleep(1)


def commit(lab: Lab, stack: Environment, tenant: str, text: str) -> float:
    """Seconds from a push until it is applied; Flux is asked to look at once."""
    lab.git.commit_files(ORGANIZATION, tenant, repository(lab, tenant, text), "Change the note")
    begin = time.monotonic()
    stack.cluster.reconcile("gitrepository", tenant, tenant)

    def is_there() -> bool:
        data: dict[str, str] = stack.cluster.get("configmap", "parent", tenant)["data"]
        return data == {"text": text}

    eventually(is_there, what=f"a commit of {tenant}")
    return time.monotonic() - begin


@pytest.mark.scenario
class TestLanes:
    """From one set of controllers to lanes, from lane to lane, and back."""

    before: dict[str, str]

    def test_a_running_stack_gets_lanes_and_nothing_is_replaced(self, lab: Lab, stack: Environment) -> None:
        settled(stack, "", "")
        type(self).before = applied(stack.cluster)
        stack.config["flux"]["lanes"] = LANES
        stack.config["tenants"][REPORTS] = {"lane": "batch"}

        stack.up()

        settled(stack, "tenants", "batch")
        assert applied(stack.cluster) == self.before
        for tenant in (SHOP, REPORTS):
            assert commit(lab, stack, tenant, "2") < 60

    def test_a_sync_that_names_no_account_is_harmless_without_any_flag_of_flux(self, stack: Environment) -> None:
        answers = run(stack.cluster.kubeconfig, "--tenant", SHOP, "--only", "5-", "--without", "flux")

        nameless = [answers.attempts[f"5-{kind}-nameless"] for kind in ("kustomization", "helmrelease")]
        assert [each["layer"] for each in nameless] == ["admission"] * 2, nameless

    @pytest.mark.parametrize(("lane", "own", "other"), [("tenants", SHOP, REPORTS), ("batch", REPORTS, SHOP)])
    @pytest.mark.parametrize("controller", CONTROLLERS)
    def test_a_token_of_a_lane_reaches_neither_the_platform_nor_another_lane(
        self, stack: Environment, tmp_path: Path, controller: str, lane: str, own: str, other: str
    ) -> None:
        stolen = Stolen(stack.cluster, f"{controller}-{lane}", tmp_path)
        secrets = ("secrets", "configmaps", "serviceaccounts", "serviceaccounts/token")

        for place in ("default", "kube-system", "flux-system", other):
            allowed = stolen.allowed(place)
            assert not [each for each in allowed if "*" in each[:2] or each[0] in ("impersonate", "bind", "escalate")]
            assert {each for each in touching(allowed, *secrets) if each[1] != "serviceaccounts"} == set()
            assert "is forbidden" in stolen.kubectl("get", "secret", "artifact-hosts", "-n", place).stderr
        # The control: so its own tenant is served.
        assert ("get", "secrets", ()) in stolen.allowed(own)

    @pytest.mark.parametrize(
        ("controller", "kind"),
        [
            ("source-controller", "gitrepository"),
            ("kustomize-controller", "kustomization"),
        ],
    )
    def test_a_token_of_a_lane_changes_no_flux_object_of_others(
        self, stack: Environment, tmp_path: Path, controller: str, kind: str
    ) -> None:
        stolen = Stolen(stack.cluster, f"{controller}-batch", tmp_path)

        def patched(name: str, content: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
            change = ("--type=merge", "--dry-run=server", "-p", json.dumps(content))
            return stolen.kubectl("patch", kind, name, "-n", name, *options, *change)

        # Of several policies that refuse a change, the API server names one.
        refusal = "forbidden: ValidatingAdmissionPolicy 'flux-tenancy-lane"
        for place in ("flux-system", SHOP):
            assert refusal in patched(place, {"spec": {"suspend": True}}).stderr
            assert refusal in patched(place, {"metadata": {"labels": {LANE_LABEL: "batch"}}}).stderr
            status = {"status": {"observedGeneration": 7}}
            assert refusal in patched(place, status, "--subresource=status").stderr
        assert refusal in patched(REPORTS, {"metadata": {"labels": {LANE_LABEL: None}}}).stderr
        # The control: so its own objects are reconciled.
        assert patched(REPORTS, {"metadata": {"finalizers": ["finalizers.fluxcd.io"]}}).returncode == 0

    def test_the_artifact_server_of_a_lane_does_not_know_those_of_another(self, stack: Environment) -> None:
        urls = {}
        for lane, tenant in (("tenants", SHOP), ("batch", REPORTS), ("", "flux-system")):
            source = stack.cluster.get("gitrepository", tenant, tenant)
            urls[lane] = urlsplit(source["status"]["artifact"]["url"])
        answers = {
            (server, content): httpx.get(f"http://{urls[server].netloc}{urls[content].path}").status_code
            for server in urls
            for content in urls
        }
        assert answers == {each: 200 if each[0] == each[1] else 404 for each in answers}

    def test_a_tenant_is_refused_without_its_lanes_label(self, lab: Lab, stack: Environment) -> None:
        user, url = f"system:serviceaccount:{SHOP}:{SHOP}", lab.git.url(ORGANIZATION, SHOP)
        source = git_repository("other", url, SHOP)

        assert "set metadata.labels['sharding.fluxcd.io/key'] to tenants" in stack.cluster.create(source, user=user)
        source["metadata"]["labels"] = {LANE_LABEL: "batch"}
        assert "to tenants" in stack.cluster.create(source, user=user)
        source["metadata"]["labels"] = {LANE_LABEL: "tenants"}
        assert stack.cluster.create(source, "--dry-run=server", user=user) == ""

    def test_a_tenant_moves_to_another_lane_and_nothing_is_replaced(self, lab: Lab, stack: Environment) -> None:
        stack.config["tenants"][REPORTS] = {}

        changes = stack.changes()

        assert not [name for name in changes if f"{REPORTS}" not in name]
        stack.up()
        settled(stack, "tenants", "tenants")
        assert applied(stack.cluster) == self.before
        assert commit(lab, stack, REPORTS, "3") < 60

    def test_a_stack_goes_back_to_one_set_of_controllers(self, lab: Lab, stack: Environment) -> None:
        stack.config["policies"]["modes"] = {"lane": "off"}
        stack.up()
        del stack.config["flux"]["lanes"], stack.config["policies"]["modes"]

        stack.up()

        settled(stack, "", "")
        assert applied(stack.cluster) == self.before
        names = [
            each["metadata"]["name"] for each in stack.cluster.get("deployments", namespace="flux-system")["items"]
        ]
        assert sorted(names) == sorted([*CONTROLLERS, "notification-controller"])
        assert commit(lab, stack, SHOP, "4") < 60
