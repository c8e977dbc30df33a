"""What the guide for Capsule with Flux warns of, tried on a real API server, each with the layer that refuses it.

Source: https://projectcapsule.dev/docs/ and docs/capsule.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.capsule.given_tenants import ACCOUNT, HOSTS, LISTED, MAKER, OTHER, OTHERS, app, namespace
from tests.e2e.manifests import kustomization
from tests.support.api_client import ApiClient
from tests.support.environment import Environment
from tests.support.lab import eventually

TRIED = f"{MAKER}-tried"
"""A namespace that the tenant makes by hand, for what it tries there."""
CAPSULE, CAPSULES = "projectcapsule.dev", "capsule.clastix.io/tenant"
POLICY = "ValidatingAdmissionPolicy 'flux-tenancy-{}'"
NAMESPACE = POLICY.format("tenant-namespace")
# Where two of them refuse, either is heard.
POLICIES = "ValidatingAdmissionPolicy 'flux-tenancy-"
ROLE = "cannot {} resource"


@pytest.fixture(scope="module")
def api(stack: Environment) -> Iterator[ApiClient]:
    """A client for what kubectl would not ask, which reads what it patches. The namespace is there in the meantime."""
    client = ApiClient(stack.cluster.kubeconfig)
    made = client.request("POST", namespace(TRIED), user=ACCOUNT)
    assert made.is_success, made.text
    eventually(lambda: not _tried(client, app("web", TRIED)), what="the tenant's rights and limits")
    yield client
    assert client.request("DELETE", namespace(TRIED), user=ACCOUNT).is_success
    client.close()


def _tried(api: ApiClient, manifest: dict[str, Any]) -> str:
    """Why the tenant may not create an object; empty if it may."""
    answer = api.request("POST", manifest, user=ACCOUNT, dry_run=True)
    return "" if answer.is_success else str(answer.json()["message"])


def sync(place: str = MAKER, **spec: Any) -> dict[str, Any]:
    fields = {"serviceAccountName": MAKER, "targetNamespace": None} | spec
    found = kustomization("tried", MAKER, place=place, **fields)
    found["spec"] = {key: value for key, value in found["spec"].items() if value is not None}
    return found


def rbac(kind: str, **rest: Any) -> dict[str, Any]:
    metadata = {"name": "tried"} | ({} if kind.startswith("Cluster") else {"namespace": TRIED})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": TRIED}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": role,
        "subjects": [subject],
    }


def service(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "tried", "namespace": TRIED}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


def claim(**spec: Any) -> dict[str, Any]:
    fields = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}} | spec
    metadata = {"name": "tried", "namespace": TRIED}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": fields}


def ingress(host: str) -> dict[str, Any]:
    metadata = {"name": "tried", "namespace": TRIED}
    backend = {"service": {"name": "tried", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec = {"rules": [{"host": host, "http": {"paths": [path]}}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def foreign_image() -> dict[str, Any]:
    found = app("tried", TRIED)
    found["spec"]["template"]["spec"]["containers"][0]["image"] = "docker.io/library/nginx:1"
    return found


def replication() -> dict[str, Any]:
    metadata = {"name": "tried", "namespace": TRIED}
    spec = {"resyncPeriod": "60s", "resources": []}
    return {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "TenantResource", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("manifest", "refusal"),
    [
        pytest.param(sync(serviceAccountName=None), POLICY.format("tenant-service-account"), id="no impersonation"),
        pytest.param(sync(serviceAccountName="default"), POLICY.format("tenant-service-account"), id="another account"),
        pytest.param(
            sync("flux-system", serviceAccountName="kustomize-controller"),
            ROLE.format("create"),
            id="a privileged account",
        ),
        pytest.param(
            sync(kubeConfig={"secretRef": {"name": "tried"}}), POLICY.format("no-kubeconfig"), id="a kubeconfig"
        ),
        pytest.param(rbac("ClusterRoleBinding"), ROLE.format("create"), id="an account made privileged"),
        pytest.param(rbac("RoleBinding"), ROLE.format("create"), id="an account made privileged in the namespace"),
        pytest.param(
            namespace(f"{OTHER}-tried", labels={CAPSULES: OTHER}),
            "non-owned Tenant",
            id="a namespace for another tenant",
        ),
        pytest.param(namespace("tried"), CAPSULE, id="a name without the tenant's prefix"),
        pytest.param(
            namespace(f"{MAKER}-x", labels={"app.kubernetes.io/managed-by": "flux-tenancy"}),
            NAMESPACE,
            id="a namespace as the stack's own",
        ),
        pytest.param(
            namespace(f"{MAKER}-x", annotations={"flux-tenancy/exceptions": "allowed-images"}),
            # The policy made-settings refuses it, too, and either is heard.
            POLICY.format("").removesuffix("'"),
            id="an exception",
        ),
        pytest.param(replication(), ROLE.format("create"), id="a replication with Capsule's rights"),
        pytest.param(
            service(type="ExternalName", externalName="evil.example.com"),
            POLICY.format("service-exposure"),
            id="ExternalName",
        ),
        pytest.param(service(type="NodePort"), POLICY.format("service-exposure"), id="NodePort"),
        pytest.param(service(externalIPs=["192.0.2.1"]), POLICY.format("service-exposure"), id="external IPs"),
        pytest.param(claim(volumeName="others"), POLICY.format("volume-claims"), id="a volume of others"),
        pytest.param(ingress("*.example.com"), POLICY.format("allowed-hosts"), id="a wildcard host"),
        pytest.param(foreign_image(), POLICY.format("allowed-images"), id="another registry"),
    ],
)
def test_a_tenant_cannot_create(api: ApiClient, manifest: dict[str, Any], refusal: str) -> None:
    assert refusal in _tried(api, manifest)


FORGED = {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "name": MAKER, "uid": "forged"}
FOREIGN, NOBODYS = "denied patch request for this namespace", "namespace is not owned by any tenant"


@pytest.mark.parametrize(
    ("name", "metadata", "refusal"),
    [
        pytest.param(TRIED, {"labels": {"toolkit.fluxcd.io/tenant": OTHER}}, POLICIES, id="the label of the policies"),
        pytest.param(
            TRIED, {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}, NAMESPACE, id="the level"
        ),
        pytest.param(TRIED, {"annotations": {"flux-tenancy/images": "evil/*"}}, NAMESPACE, id="its lists"),
        pytest.param(TRIED, {"labels": {"app.kubernetes.io/managed-by": "flux-tenancy"}}, NAMESPACE, id="its origin"),
        pytest.param(MAKER, {"labels": {"a": "b"}}, NOBODYS, id="its home"),
        pytest.param(LISTED, {"labels": {"a": "b"}}, NAMESPACE, id="a namespace of the stack"),
        pytest.param(OTHERS, {"labels": {"a": "b"}}, FOREIGN, id="a namespace of another tenant"),
        pytest.param(OTHERS, {"labels": {CAPSULES: MAKER}}, FOREIGN, id="the owner of another's namespace"),
        pytest.param("flux-system", {"labels": {CAPSULES: MAKER}}, "be patched into a tenant", id="the platform's"),
        pytest.param("kube-system", {"labels": {"a": "b"}}, NOBODYS, id="a namespace of the cluster"),
    ],
)
def test_a_tenant_cannot_change(api: ApiClient, name: str, metadata: dict[str, Any], refusal: str) -> None:
    answer = api.request("PATCH", namespace(name), user=ACCOUNT, dry_run=True, body={"metadata": metadata})

    assert not answer.is_success
    assert refusal in answer.json()["message"]


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": {CAPSULES: OTHER}}, id="the tenant of its namespace"),
        pytest.param({"labels": {CAPSULES: None}}, id="no tenant"),
        pytest.param({"ownerReferences": [FORGED]}, id="a forged uid"),
        pytest.param({"ownerReferences": []}, id="no owner"),
    ],
)
def test_capsule_undoes_a_change_of_the_owner(api: ApiClient, metadata: dict[str, Any]) -> None:
    before = api.request("GET", namespace(TRIED)).json()["metadata"]

    answer = api.request("PATCH", namespace(TRIED), user=ACCOUNT, dry_run=True, body={"metadata": metadata})

    after = answer.json().get("metadata", {})
    assert not answer.is_success or all(after[key] == before[key] for key in ("labels", "ownerReferences"))


def test_a_pods_account_cannot_change_its_namespace(api: ApiClient) -> None:
    account = f"system:serviceaccount:{TRIED}:default"

    answer = api.request("PATCH", namespace(TRIED), user=account, body={"metadata": {"labels": {"a": "b"}}})

    assert ROLE.format("patch") in answer.json()["message"]


@pytest.mark.parametrize(("api_version", "kind"), [("v1", "ResourceQuota"), ("networking.k8s.io/v1", "NetworkPolicy")])
def test_a_tenant_cannot_delete_its_limits(api: ApiClient, api_version: str, kind: str) -> None:
    limit = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "any", "namespace": TRIED}}

    answer = api.request("DELETE", limit, user=ACCOUNT, collection=True)

    assert ROLE.format("deletecollection") in answer.json()["message"]


def test_a_host_that_is_listed_can_be_published(api: ApiClient) -> None:
    assert not _tried(api, ingress(HOSTS.replace("*", "shop")))
