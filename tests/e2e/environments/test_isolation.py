"""Attempts that Flux itself refuses, with the message that the tenant sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

from flux_tenancy.isolation.live import LABEL
from tests.e2e.manifests import git_repository, kustomization
from tests.support.environment import Environment
from tests.support.isolation import assert_safe, run, run_stack
from tests.support.lab import Lab, eventually
from tests.support.listeners import answers, own_address, started

TENANT = "system:serviceaccount:apps:dev-team"


def may(environment: Environment, verb: str, resource: str, namespace: str = "apps") -> bool:
    """Whether the tenant's service account is allowed something; `resource` may name a subresource after a slash."""
    resource, _, subresource = resource.partition("/")
    question = ["auth", "can-i", verb, resource, f"--subresource={subresource}", "-n", namespace]
    answer = environment.cluster.kubectl(*question, user=TENANT).stdout.strip()
    assert answer in ("yes", "no")
    return answer == "yes"


class Attempts:
    """Objects that the tenant creates itself, with its own rights, and that are gone after the test."""

    def __init__(self, environment: Environment) -> None:
        self._cluster = environment.cluster
        self._made: list[tuple[str, str]] = []

    def create(self, manifest: dict[str, Any]) -> str:
        """Create as the tenant's service account; returns what the API server says against it."""
        self._made.append((manifest["kind"].lower(), manifest["metadata"]["name"]))
        return self._cluster.kubectl("create", "-f", "-", user=TENANT, stdin=json.dumps(manifest)).stderr

    def undo(self) -> None:
        for kind, name in reversed(self._made):
            self._cluster.kubectl("delete", kind, name, "-n", "apps", "--ignore-not-found")


@pytest.fixture
def attempts(staging_stack: Environment) -> Iterator[Attempts]:
    made = Attempts(staging_stack)
    yield made
    made.undo()


def test_a_sync_without_service_account_runs_as_the_default_account_without_rights(
    staging_stack: Environment, attempts: Attempts
) -> None:
    nameless = kustomization("nameless")
    del nameless["spec"]["serviceAccountName"]
    assert not attempts.create(nameless)

    message = staging_stack.cluster.refusal("kustomization", "nameless", "apps")

    assert 'User "system:serviceaccount:apps:default" cannot' in message
    assert "forbidden" in message


def test_a_source_in_another_namespace_is_refused(staging_stack: Environment, attempts: Attempts) -> None:
    foreign = kustomization("foreign")
    foreign["spec"]["sourceRef"]["namespace"] = "flux-system"
    assert not attempts.create(foreign)

    message = staging_stack.cluster.refusal("kustomization", "foreign", "apps")

    assert "can't access 'GitRepository/flux-system/dev-team', cross-namespace references have been blocked" in message


@pytest.mark.parametrize("transport", ["http", "file"])
def test_a_remote_base_is_refused_before_git_connects_or_starts_a_program(
    lab: Lab, staging_stack: Environment, attempts: Attempts, tmp_path: Path, transport: str
) -> None:
    """kustomize runs git before it looks whether remote bases are allowed; `file` is what git starts a helper for."""
    bases = {
        "http": lab.repository("mallory", "elsewhere", {"base/kustomization.yaml": "resources: []\n"}, tmp_path),
        "file": f"file://{tmp_path}/elsewhere.git",
    }
    remote = f"{bases[transport]}//base?ref=main"
    name = f"remote-base-{transport}"
    url = lab.repository("mallory", name, {"staging/kustomization.yaml": f"resources: ['{remote}']\n"}, tmp_path)
    assert not attempts.create(git_repository(name, url))
    assert not attempts.create(kustomization(name, source=name))

    message = staging_stack.cluster.refusal("kustomization", name, "apps", saying="kustomize build failed")

    assert remote in message
    assert f"transport '{transport}' not allowed" in message


class Elsewhere:
    """An HTTP server that is none of the tenant's business.

    Go sends nothing for the host `localhost` or a loopback address through a proxy. It compares names as they are
    written, so the same name in capital letters stands for a host that is neither.
    """

    def __init__(self, answer: bytes = b"", location: str = "") -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                content = answer or b"{apiVersion: v1, kind: ConfigMap, metadata: {name: fetched}, data: {a: b}}"
                self.send_response(302 if location else 200)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        port = self.server.server_port
        self.url = f"http://LOCALHOST:{port}"
        self.address = f"http://127.0.0.1:{port}"


@contextmanager
def serving(elsewhere: Elsewhere) -> Iterator[Elsewhere]:
    thread = Thread(target=elsewhere.server.serve_forever)
    thread.start()
    try:
        yield elsewhere
    finally:
        elsewhere.server.shutdown()
        thread.join()
        elsewhere.server.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with serving(Elsewhere()) as each:
        yield each


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("remote-resource", "resources: ['{url}/config-map.yaml']\n"),
        ("remote-data", "configMapGenerator: [{{name: copied, files: ['data={url}/secret.txt']}}]\n"),
    ],
)
def test_a_remote_file_is_refused_before_any_connection(
    lab: Lab,
    staging_stack: Environment,
    attempts: Attempts,
    elsewhere: Elsewhere,
    tmp_path: Path,
    name: str,
    build: str,
) -> None:
    files = {"staging/kustomization.yaml": build.format(url=elsewhere.url)}
    url = lab.repository("mallory", name, files, tmp_path)
    assert not attempts.create(git_repository(name, url))
    assert not attempts.create(kustomization(name, source=name))

    message = staging_stack.cluster.refusal("kustomization", name, "apps", saying="kustomize build failed")

    assert "proxyconnect tcp: dial tcp 127.0.0.1:9: connect: connection refused" in message
    assert not elsewhere.asked
    # The controller's own way to artifacts, which the tenant does not learn.
    service = staging_stack.cluster.kubectl("get", "services", "-n", "flux-system", "-o", "name").stdout
    [artifacts] = [line for line in service.split() if "/artifacts-" in line]
    assert artifacts.partition("/")[2] not in message
    assert staging_stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True"


def test_a_build_does_not_reach_an_address_like_that_of_the_controllers_pod(
    lab: Lab, staging_stack: Environment, attempts: Attempts, tmp_path: Path
) -> None:
    """Where the controllers listen (test_listeners.py): with metrics and profiles, health checks and artifacts."""
    address, cluster = own_address(), staging_stack.cluster
    deployment = cluster.get("deployment", "source-controller", "flux-system")
    with started(lab, staging_stack, deployment, address, tmp_path) as ports:
        metrics = f"http://{address}:{ports['metrics-addr']}/metrics"
        files = {"staging/kustomization.yaml": f"resources: ['{metrics}']\n"}
        assert not attempts.create(
            git_repository("of-the-pod", lab.repository("mallory", "of-the-pod", files, tmp_path))
        )
        # The control: who goes through no proxy gets an answer.
        eventually(partial(answers, address, ports["metrics-addr"]), what="the metrics of source-controller")
        assert b"controller_runtime" in build_opener(ProxyHandler({})).open(metrics, timeout=10).read()
        assert not attempts.create(kustomization("of-the-pod", source="of-the-pod"))

        message = cluster.refusal("kustomization", "of-the-pod", "apps", saying="kustomize build failed")

    assert "proxyconnect tcp: dial tcp 127.0.0.1:9: connect: connection refused" in message


INDEX = b"apiVersion: v1\nentries: {}\n"


def helm_repository(name: str, url: str) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "HelmRepository",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {"interval": "1h", "url": url},
    }


def test_an_index_or_a_redirect_leads_source_controller_nowhere_without_tls(
    staging_stack: Environment, attempts: Attempts, elsewhere: Elsewhere
) -> None:
    """Staging has no policies, which would refuse the first of the URLs."""
    cluster = staging_stack.cluster
    with serving(Elsewhere(location=f"{elsewhere.url}/index.yaml")) as leading, serving(Elsewhere(answer=INDEX)) as own:
        urls = {"named": elsewhere.url, "redirected": leading.address}
        for name, url in {**urls, "loopback": own.address}.items():
            assert not attempts.create(helm_repository(name, url))
        messages = {name: cluster.refusal("helmrepository", name, "apps", saying="proxyconnect") for name in urls}
        # The control: requests to loopback addresses go through no proxy, and nothing of Flux listens there.
        eventually(lambda: cluster.ready("helmrepository", "loopback", "apps")[0] == "True")

    assert all("127.0.0.1:9: connect: connection refused" in message for message in messages.values())
    assert leading.asked and not elsewhere.asked


def test_an_index_beyond_the_limit_is_refused(staging_stack: Environment, attempts: Attempts) -> None:
    """Of half the size that the controller takes by default."""
    large = INDEX + b"\n" * (26 << 20)
    with serving(Elsewhere(answer=large)) as beyond:
        assert not attempts.create(helm_repository("beyond", beyond.address))

        message = staging_stack.cluster.refusal("helmrepository", "beyond", "apps", saying="index")

    assert "exceeds the maximum index file size of 26214400 bytes" in message


def test_a_charts_dependency_leads_source_controller_nowhere_without_tls(
    lab: Lab, staging_stack: Environment, attempts: Attempts, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    dependency = f"[{{name: other, version: 1.0.0, repository: '{elsewhere.url}'}}]"
    files = {
        "alone/Chart.yaml": "apiVersion: v2\nname: alone\nversion: 0.1.0\n",
        "chart/Chart.yaml": f"apiVersion: v2\nname: leading\nversion: 0.1.0\ndependencies: {dependency}\n",
    }
    assert not attempts.create(git_repository("leading", lab.repository("mallory", "leading", files, tmp_path)))
    for name in ("chart", "alone"):
        spec = {"interval": "1h", "chart": name, "sourceRef": {"kind": "GitRepository", "name": "leading"}}
        metadata = {"name": name, "namespace": "apps"}
        chart = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart", "metadata": metadata, "spec": spec}
        assert not attempts.create(chart)

    message = staging_stack.cluster.refusal("helmchart", "chart", "apps", saying="proxyconnect")

    assert "127.0.0.1:9: connect: connection refused" in message
    assert not elsewhere.asked
    eventually(lambda: staging_stack.cluster.ready("helmchart", "alone", "apps")[0] == "True")


def test_waiting_kustomizations_do_not_block_other_tenants(
    lab: Lab, staging_stack: Environment, attempts: Attempts, tmp_path: Path
) -> None:
    """The release has four workers for all tenants."""
    cluster = staging_stack.cluster
    never = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "never", "namespace": "apps"}]
    url = lab.repository("mallory", "waiting", {"staging/kustomization.yaml": "resources: []\n"}, tmp_path)
    assert not attempts.create(git_repository("waiting", url))
    names = [f"waiting-{number}" for number in range(5)]
    for name in names:
        assert not attempts.create(kustomization(name, source="waiting", healthChecks=never))
    # Which is not in the condition Ready.
    waiting = "Running health checks"
    eventually(lambda: all(waiting in str(cluster.get("kustomization", name, "apps")["status"]) for name in names))

    cluster.reconciled("kustomization", "dev-team", "apps")


def test_a_cluster_role_in_the_repository_is_refused_and_the_tenant_sees_why(
    lab: Lab, staging_stack: Environment, attempts: Attempts, tmp_path: Path
) -> None:
    role = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: everything\n"
        "rules:\n  - apiGroups: ['*']\n    resources: ['*']\n    verbs: ['*']\n"
    )
    url = lab.repository("mallory", "cluster-role", {"staging/role.yaml": role}, tmp_path)
    assert not attempts.create(git_repository("cluster-role", url))
    assert not attempts.create(kustomization("cluster-role", source="cluster-role"))

    message = staging_stack.cluster.refusal("kustomization", "cluster-role", "apps", saying="ClusterRole/everything")

    assert f'User "{TENANT}" cannot patch resource "clusterroles"' in message
    # The event follows the condition.
    eventually(
        lambda: (
            "ClusterRole/everything" in staging_stack.cluster.kubectl("get", "events", "-n", "apps", user=TENANT).stdout
        )
    )
    assert staging_stack.cluster.find("clusterrole", "everything") is None


@pytest.mark.parametrize(
    "namespace, kind",
    [
        ("flux-system", "kustomizations"),
        ("flux-system", "secrets"),
        ("kube-system", "configmaps"),
        ("default", "pods"),
    ],
)
def test_the_tenant_has_no_rights_outside_its_namespaces(staging_stack: Environment, namespace: str, kind: str) -> None:
    for verb in ("create", "get"):
        assert not may(staging_stack, verb, kind, namespace)


@pytest.mark.parametrize(
    "verb, resource",
    [
        ("create", "rolebindings"),
        ("create", "roles"),
        ("create", "resourcequotas"),
        ("delete", "networkpolicies"),
        ("create", "serviceaccounts/token"),
        ("impersonate", "serviceaccounts"),
        ("update", "gitrepositories/status"),
        ("patch", "kustomizations/status"),
        ("create", "externalartifacts"),
        ("patch", "namespaces"),
        ("update", "endpoints"),
        ("patch", "pods/ephemeralcontainers"),
    ],
)
def test_the_tenant_role_stops_short_of_admin(staging_stack: Environment, verb: str, resource: str) -> None:
    assert not may(staging_stack, verb, resource)


@pytest.mark.parametrize("resource", ["deployments.apps", "secrets", "kustomizations", "helmreleases", "receivers"])
def test_the_tenant_role_allows_what_tenants_are_for(staging_stack: Environment, resource: str) -> None:
    assert may(staging_stack, "create", resource)


def test_a_privileged_pod_is_refused_in_the_tenants_namespace(staging_stack: Environment) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: root, namespace: apps}\nspec:\n  hostNetwork: true\n"
        "  containers: [{name: root, image: x, securityContext: {privileged: true}}]\n"
    )
    refused = staging_stack.cluster.kubectl("create", "-f", "-", user=TENANT, stdin=pod)
    assert 'violates PodSecurity "restricted:latest"' in refused.stderr


def test_the_controllers_run_with_the_lockdown(staging_stack: Environment) -> None:
    """Not what the manifest says but what the processes were started with."""
    deployment = staging_stack.cluster.get("deployment", "kustomize-controller", "flux-system")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {
        "--no-cross-namespace-refs=true",
        "--no-remote-bases=true",
        "--default-service-account=default",
    } <= set(arguments)
    logs = staging_stack.cluster.kubectl("logs", "deploy/kustomize-controller", "-n", "flux-system").stdout
    assert '"ObjectLevelWorkloadIdentity":true' in logs
    assert '"CancelHealthCheckOnNewRevision":true' in logs
    role = staging_stack.cluster.get("clusterrole", "crd-controller")
    assert not [rule for rule in role["rules"] if "serviceaccounts/token" in rule.get("resources", ())]
    assert eventually(lambda: staging_stack.cluster.find("networkpolicy", "allow-egress", "flux-system"))


def test_flux_refuses_references_to_other_namespaces_alone(staging_stack: Environment) -> None:
    """What the isolation suite hears of Flux where no policy stands before it."""
    beginnings = [option for each in ("1-", "2-", "3-", "4-", "5-") for option in ("--only", each)]

    found = run(staging_stack.cluster.kubeconfig, "--tenant", "dev-team", "--live", *beginnings)

    assert found.code == 0, found.ids("passed")
    assert found.ids("refused") == set(found.attempts) - found.ids("notApplicable")
    said = {"1-kustomization-source": "have been blocked", "1-helmrelease-chart": "are not allowed"}
    for key, words in said.items():
        assert f"cross-namespace references {words}" in found.attempts[key]["layers"]["flux"]["message"]
    left = "kustomizations,helmreleases,rolebindings"
    assert staging_stack.cluster.kubectl("get", left, "-n", "apps", "-l", LABEL, "-o", "name").stdout == ""


def test_what_is_in_force_is_as_intended(staging_stack: Environment) -> None:
    """For the stack's own tenant; those of other modules lose keys and more on purpose."""
    name = staging_stack.cluster.name
    assert_safe(*run_stack(staging_stack.project, name, "--only", "inventory", "--tenant", "dev-team"))
