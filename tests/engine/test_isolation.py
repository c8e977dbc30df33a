"""The isolation suite against clusters of others: a real API server, and Flux as documented.

No controller runs: what Flux itself refuses is seen by how its Deployments are to be started.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.config.yaml_files import FastLoader
from tests.support.api_client import ApiClient
from tests.support.api_server import ApiServer, api_server
from tests.support.isolation import Answers, beginning, run
from tests.support.lab import eventually
from tests.support.mutations import Mutation, binding, made
from tests.support.offline_requests import tool
from tests.support.policy_requests import RBAC, as_in_flux_2_10, bound
from tests.support.releases import FLUX_BUNDLE

TENANT, APPS = "dev-team", "apps"
LABELLED = {"toolkit.fluxcd.io/tenant": TENANT}
# What the patch of flux2-multi-tenancy adds to the controllers.
LOCKDOWN = {
    "kustomize-controller": ["--no-cross-namespace-refs=true", "--no-remote-bases=true"],
    "helm-controller": ["--no-cross-namespace-refs=true"],
    "notification-controller": ["--no-cross-namespace-refs=true"],
    "image-reflector-controller": ["--no-cross-namespace-refs=true"],
    "image-automation-controller": ["--no-cross-namespace-refs=true"],
}
LOGINS = ("login", "role", "audience", "unknown")
WEB = {"ports": [{"port": 80}]}
APPLYING = ("kustomize-controller", "helm-controller")
FLUX_GROUPS = {"kustomizations": "kustomize.toolkit.fluxcd.io", "helmreleases": "helm.toolkit.fluxcd.io"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with Flux as its release has it."""
    with api_server(tmp_path_factory.mktemp("api")) as server:
        for manifest in yaml.load_all(tool(FLUX_BUNDLE).read_text(), FastLoader):
            server.client.apply(as_in_flux_2_10(manifest))
        eventually(lambda: "kustomizations" in str(server.client.get("/apis/kustomize.toolkit.fluxcd.io/v1")))
        yield server


def onboard(api: ApiClient, account: str, labels: dict[str, str]) -> None:
    """A tenant as `flux create tenant` makes one, with its source and sync."""
    place = {"namespace": APPS}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APPS, "labels": labels}})
    for name in (account, "default"):
        api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place | {"name": name}})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": APPS}
    metadata = place | {"name": f"{TENANT}-reconciler", "labels": labels}
    api.apply(bound("RoleBinding", metadata, "cluster-admin", subject) | RBAC)
    source = {"interval": "1m", "url": "https://github.com/example/dev-team", "ref": {"branch": "main"}}
    api.apply(flux("source.toolkit.fluxcd.io/v1", "GitRepository", source))
    api.apply({"apiVersion": "v1", "kind": "Service", "metadata": place | {"name": TENANT}, "spec": WEB})
    sync = {
        "interval": "5m",
        "prune": True,
        "serviceAccountName": account,
        "sourceRef": {"kind": "GitRepository", "name": TENANT},
    }
    api.apply(flux("kustomize.toolkit.fluxcd.io/v1", "Kustomization", sync))


def flux(version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": TENANT, "namespace": APPS}, "spec": spec}


def lock_down(api: ApiClient, account: str) -> None:
    """Change Flux's Deployments as the patch of flux2-multi-tenancy does."""
    for name, flags in LOCKDOWN.items():
        deployment = api.get(f"/apis/apps/v1/namespaces/flux-system/deployments/{name}")
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        container["args"] += [*flags, *([f"--default-service-account={account}"] if name in APPLYING else [])]
        for key in ("managedFields", "resourceVersion"):
            del deployment["metadata"][key]
        api.apply(deployment)


def policy(name: str, rules: dict[str, str], expression: str) -> list[dict[str, Any]]:
    """A policy of a platform's own for all tenants' namespaces: resources by name with their group, and what holds."""
    admission = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    resources = [
        {"apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": ["CREATE", "UPDATE"]}
        for resource, group in rules.items()
    ]
    selector = {"matchExpressions": [{"key": "toolkit.fluxcd.io/tenant", "operator": "Exists"}]}
    return [
        admission
        | {
            "kind": "ValidatingAdmissionPolicy",
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": resources},
                "validations": [{"expression": expression, "message": f"{name} refuses this"}],
            },
        },
        admission
        | {
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": selector},
            },
        },
    ]


def in_force(api: ApiClient) -> bool:
    """Whether the last of the policies refuses."""
    bucket = {"interval": "1h", "endpoint": "storage.example.com", "bucketName": "a"}
    request = flux("source.toolkit.fluxcd.io/v1", "Bucket", bucket)
    return "no-buckets" in api.request("POST", request, dry_run=True).text


PROFILE = ("--profile", "restricted", "--only", "inventory")


def keep_the_profile(api: ApiClient) -> None:
    """Change a tenant of `flux create tenant` to one that keeps the profile `restricted`."""
    place = {"namespace": APPS}
    labels = LABELLED | {"pod-security.kubernetes.io/enforce": "restricted"}
    role = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}
    subject = {"kind": "ServiceAccount", "name": TENANT, "namespace": APPS}
    deployer = bound("RoleBinding", place | {"name": f"{TENANT}-reconciler", "labels": labels}, "deployer", subject)
    api.request("DELETE", deployer | RBAC)
    closed = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    manifests: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APPS, "labels": labels}},
        RBAC | {"kind": "ClusterRole", "metadata": {"name": "deployer"}, "rules": [role]},
        deployer | RBAC,
        {**_named("v1", "ResourceQuota", "count"), "spec": {"hard": {"count/secrets": "10"}}},
        {**_named("networking.k8s.io/v1", "NetworkPolicy", "closed"), "spec": closed},
        *policy("no-buckets", {"buckets": "source.toolkit.fluxcd.io"}, "false"),
    ]
    for manifest in manifests:
        api.apply(manifest)


def _named(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": APPS}}


def profile_holes() -> Iterator[Mutation]:
    """What a tenant, or somebody for it, may have on a cluster without a stack."""
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APPS}}
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    yield Mutation("Pod Security that is off", place, level, "FT-ISO-120")
    count, closed = _named("v1", "ResourceQuota", "count"), _named("networking.k8s.io/v1", "NetworkPolicy", "closed")
    much = {"spec": {"hard": {"count/secrets": "1e8"}}}
    yield Mutation("a quota of 1e8", count, much, "FT-ISO-121", (APPS, f"Namespace {APPS}"))
    yield Mutation("no network policy", closed, None, "FT-ISO-122", (APPS, f"Namespace {APPS}"))
    account = {"kind": "ServiceAccount", "name": "default", "namespace": APPS}
    yield replace(binding("edit", account, APPS), code="FT-ISO-124")
    yield replace(binding("view", account), code="FT-ISO-124")
    bound_policy = policy("no-buckets", {"buckets": "source.toolkit.fluxcd.io"}, "false")[1]
    yield Mutation("a policy in Audit", bound_policy, {"spec": {"validationActions": ["Audit"]}}, "FT-ISO-125")


def refused_by(found: Answers, key: str) -> tuple[str, str]:
    attempt = found.attempts[key]
    return attempt["layer"], attempt["by"]


@pytest.mark.scenario
class TestOthers:
    """The cluster of somebody else, who closes more of it from step to step."""

    def test_a_plain_flux_has_holes(self, server: ApiServer) -> None:
        """The proof that the suite can fail: without label, lockdown and policies, for a tenant that is named."""
        onboard(server.client, TENANT, {})

        found = run(server.kubeconfig, "--namespace", APPS, "--service-account", TENANT)

        assert found.code == 1
        assert found.report["account"] == f"system:serviceaccount:{APPS}:{TENANT}"
        open_ = (
            *range(1, 7),
            *range(11, 16),
            *range(17, 22),
            24,
            *range(29, 32),
            33,
            34,
            *range(36, 39),
            41,
            45,
            47,
            49,
        )
        for threat in open_:
            assert beginning(found.ids("passed"), f"{threat}-"), threat
        assert {f"17-{key}-{account}" for key in LOGINS for account in ("new", "own")} <= found.ids("passed")
        assert {"5-artifactgenerator-nameless", "13-helmrelease-oci"} <= found.ids("passed")
        # What RBAC refuses everywhere.
        assert refused_by(found, "3-artifact-generator-target") == ("role", "RBAC")
        assert beginning(found.attempts, "7-", "8-", "16-") == beginning(found.ids("refused"), "7-", "8-", "16-")
        assert found.controls("refused") == {}

    def test_flux2_multi_tenancy_tests_a_field_that_does_not_exist(self, server: ApiServer) -> None:
        """Policies in the shape of its own: pods as the account and buckets are refused, a kubeConfig is not."""
        api, account = server.client, "flux"
        onboard(api, account, LABELLED)
        lock_down(api, account)
        for manifest in (
            *policy("no-kubeconfig", FLUX_GROUPS, "!has(object.spec.kubeconfig)"),
            *policy("no-pods-as-flux", {"pods": ""}, f"object.spec.serviceAccountName != '{account}'"),
            *policy("no-buckets", {"buckets": "source.toolkit.fluxcd.io"}, "false"),
        ):
            api.apply(manifest)
        eventually(lambda: in_force(api))

        found = run(server.kubeconfig)

        assert (found.report["tenant"], found.report["account"]) == (TENANT, f"system:serviceaccount:{APPS}:{account}")
        assert beginning(found.ids("passed"), "15-") == {
            f"15-{kind}-kubeconfig-{of}" for kind in ("kustomization", "helmrelease") for of in ("secret", "config-map")
        }
        assert refused_by(found, "33-pod") == ("admission", "no-pods-as-flux")
        # The template is refused by nobody, so that its pods never start.
        assert "33-deployment" in found.ids("passed")
        assert refused_by(found, "13-bucket") == ("admission", "no-buckets")
        assert refused_by(found, "1-kustomization-source") == ("flux", "kustomize-controller")
        assert refused_by(found, "4-remote-base") == ("flux", "kustomize-controller")
        assert found.controls("refused") == {}

    def test_a_profile_finds_what_somebody_has_opened(self, server: ApiServer, tmp_path: Path) -> None:
        onboard(server.client, TENANT, LABELLED)
        keep_the_profile(server.client)
        api = connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), tmp_path)

        def found() -> set[tuple[str, str, str]]:
            answers = run(server.kubeconfig, *PROFILE)
            assert answers.code == bool(answers.report["inventory"])
            return {(each["code"], each["namespace"], each["object"]) for each in answers.report["inventory"]}

        assert found() == set()
        for hole in profile_holes():
            with made(api, hole):
                assert found() == {hole.finding}, hole.name
        assert found() == set()
