"""Namespaces that tenants make, in a real API server without Capsule's webhooks: their settings and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sample_plan import tenant_objects

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.native_only import limits_first
from flux_tenancy.components.policies.policy_files import read_objects
from flux_tenancy.components.policies.table import policy_set
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API, CAPSULE_TENANT_LABEL, SETTINGS
from flux_tenancy.components.tenant.capsule.objects import made_metadata
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.api_client import ApiClient
from tests.support.api_server import api_server
from tests.support.lab import eventually
from tests.support.policy_requests import RBAC, bound, definition

HOME, TENANT, OTHER = "shop-home", "shop", "rival"
ACCOUNT = f"system:serviceaccount:{HOME}:{TENANT}"
TENANCY = TenancyConfig.model_validate({"mode": "capsule"})
CONFIG = TenantConfig.model_validate(
    {
        "namespaces": [{"name": HOME}],
        "source": {"url": "https://git.example.com/org/app"},
        "policies": {"images": ["registry.example.com/shop/*"]},
    }
)
# Else the policy tenant-namespace refuses it, too.
ALL_SETTINGS = made_metadata(TENANT, CONFIG, CONFIG.capsule, TENANT, "default")[1][SETTINGS]
REFUSED = "differ from the platform's settings for this tenant"


def namespace(name: str, **annotations: str | None) -> dict[str, Any]:
    """A namespace as Capsule leaves it, or as its tenant writes it; None leaves an annotation out."""
    labels, own = made_metadata(TENANT, CONFIG, CONFIG.capsule, TENANT, "default")
    changed = own | {f"flux-tenancy/{key}": value for key, value in annotations.items()}
    metadata = {
        "name": name,
        "labels": labels | {CAPSULE_TENANT_LABEL: TENANT},
        "annotations": {key: value for key, value in changed.items() if value is not None},
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """An API server with two Tenants of Capsule and the policies, and without Capsule."""
    maker = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create", "patch"]}
    with api_server(tmp_path_factory.mktemp("api")) as server:
        api = server.client
        for kind in ("Tenant", "GlobalTenantResource"):
            api.apply(definition("capsule.clastix.io", kind, "Cluster", "v1beta2"))
        eventually(lambda: _has_kinds(api), what="Capsule's kinds")
        for name in (TENANT, OTHER):
            for each in tenant_objects(name, CONFIG, TENANCY).capsule:
                api.apply(each)
        subject = {"kind": "ServiceAccount", "name": TENANT, "namespace": HOME}
        api.apply(RBAC | {"kind": "ClusterRole", "metadata": {"name": "maker"}, "rules": [maker]})
        api.apply(bound("ClusterRoleBinding", {"name": "maker"}, "maker", subject))
        api.apply(namespace(f"{TENANT}-made"))
        policies = policy_set(PoliciesConfig(), PolicyEngine.NATIVE, tenancy=TENANCY)
        for each in (*policies.manifests, *read_objects("made-settings"), *limits_first(TENANCY)):
            api.apply(each)
        eventually(lambda: REFUSED in _made(api, namespace(f"{TENANT}-other", images="*")), what="the policies")
        yield api


def _has_kinds(api: ApiClient) -> bool:
    try:
        found = [each["kind"] for each in api.get(f"/apis/{CAPSULE_API}")["resources"]]
    except AssertionError:
        return False
    return {"Tenant", "GlobalTenantResource"} <= set(found)


def _made(api: ApiClient, manifest: dict[str, Any]) -> str:
    """Why the tenant may not make a namespace; empty if it may."""
    answer = api.request("POST", manifest, user=ACCOUNT, dry_run=True)
    return "" if answer.is_success else str(answer.json()["message"])


def test_a_namespace_with_the_settings_of_its_tenant_can_be_made(api: ApiClient) -> None:
    assert _made(api, namespace(f"{TENANT}-web")) == ""


@pytest.mark.parametrize(
    "annotations",
    [
        {"images": "registry.example.com/*"},
        {"images": None},
        {"exceptions": "allowed-images", "settings": f"{ALL_SETTINGS} flux-tenancy/exceptions"},
        {"namespaces": "shop-home kube-system"},
    ],
    ids=["another list", "no list", "an exception", "other namespaces"],
)
def test_settings_of_the_tenants_choice_are_refused_without_capsule_too(
    api: ApiClient, annotations: dict[str, str | None]
) -> None:
    assert REFUSED in _made(api, namespace(f"{TENANT}-web", **annotations))


def test_a_namespace_of_another_tenant_is_refused_without_capsule_too(api: ApiClient) -> None:
    foreign = namespace(f"{OTHER}-web")
    foreign["metadata"]["labels"] |= {TENANT_LABEL: OTHER, CAPSULE_TENANT_LABEL: OTHER}

    assert REFUSED in _made(api, foreign)


def test_a_made_namespace_can_be_used_only_with_all_of_its_limits(api: ApiClient) -> None:
    place = f"{TENANT}-made"
    used = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "used", "namespace": place}, "data": {}}
    certificate = used | {"metadata": {"name": "kube-root-ca.crt", "namespace": place}}
    [_, replication] = tenant_objects(TENANT, CONFIG, TENANCY).capsule
    [resources] = replication["spec"]["resources"]

    for limit in resources["rawItems"]:
        eventually(
            lambda: "no params found" in api.request("POST", used, dry_run=True).text,
            what="the policy of a limit that is missing",
        )
        assert "no params found" not in api.request("POST", certificate, dry_run=True).text
        api.apply(limit | {"metadata": limit["metadata"] | {"namespace": place}})

    eventually(lambda: api.request("POST", used, dry_run=True).is_success, what="the limits")
