"""Namespaces that leave a Tenant of Capsule and outlive it, and limits of those that tenants have made."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pulumi
import pytest
from kubernetes import client
from loopback import api_client
from message_codes import codes

from flux_tenancy.components.cluster.hooks import NotReady
from flux_tenancy.components.tenant.capsule import released_namespaces
from flux_tenancy.components.tenant.capsule.released_namespaces import (
    Releases,
    release,
    wait_until_replicated,
    without_tenant,
)
from flux_tenancy.components.tenant.config import TenancyConfig

OWNED = "capsule.clastix.io/tenant"
OWNER = {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "name": "dev-team", "uid": "1"}
OTHER = {"apiVersion": "example.com/v1", "kind": "Tenant", "name": "dev-team", "uid": "2"}
METADATA = {
    "resourceVersion": "7",
    "labels": {"capsule.clastix.io/tenant": "dev-team", "toolkit.fluxcd.io/tenant": "dev-team"},
    "annotations": {
        "scheduler.alpha.kubernetes.io/node-selector": "pool=apps",
        "flux-tenancy/owner": "system:serviceaccount:apps:dev-team",
        "flux-tenancy/namespaces": "apps",
    },
    "ownerReferences": [OWNER, OTHER],
}


def test_only_what_capsule_has_put_on_a_namespace_is_removed():
    assert without_tenant({"metadata": METADATA}) == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {"capsule.clastix.io/tenant": None},
            "annotations": {"scheduler.alpha.kubernetes.io/node-selector": None, "flux-tenancy/owner": None},
            "ownerReferences": [OTHER],
        }
    }


def manifest(kind="Namespace", name="apps", **labels):
    return {"kind": kind, "metadata": {"name": name, "labels": labels}}


def test_only_namespaces_that_leave_their_tenant_are_released(monkeypatch):
    monkeypatch.setattr(pulumi, "ResourceHook", lambda name, _: SimpleNamespace(name=name))
    owned = {"apps": "dev-team", "made": "dev-team"}
    releases = Releases(cast(client.ApiClient, None), owned, ["made"])

    assert len(releases.of(manifest()).before_update or ()) == 1
    # The stack lists it for the first time, so that Pulumi creates it.
    assert len(releases.of(manifest(name="made", **{OWNED: "dev-team"})).before_create or ()) == 1
    for other in (
        manifest(name="jobs"),
        manifest("ResourceQuota"),
        manifest(**{OWNED: "dev-team"}),
    ):
        assert not releases.of(other).before_update


CAPSULE = "/apis/capsule.clastix.io/v1beta2"
TENANT = f"{CAPSULE}/tenants/dev-team"
RULES = f"{CAPSULE}/namespaces/apps/rulestatuses/capsule-managed-rules"


def released(status: dict[str, Any], bodies: list[bytes] | None = None, rules: int = 404) -> None:
    answers = {"/api/v1/namespaces/apps": {"metadata": METADATA}, TENANT: status, RULES: {"metadata": {}}}
    with api_client(answers, bodies=bodies, statuses={RULES: rules}) as api:
        release(api, "apps", "dev-team")


def test_the_update_goes_on_when_the_tenant_no_longer_lists_the_namespace():
    bodies: list[bytes] = []

    released({"status": {"namespaces": ["dev-team-web"]}}, bodies)

    assert [json.loads(each) for each in bodies] == [without_tenant({"metadata": METADATA})]


@pytest.mark.parametrize(("status", "rules"), [({"status": {"namespaces": ["apps"]}}, 404), ({}, 200)])
def test_the_update_fails_as_long_as_capsule_holds_the_namespace(monkeypatch, status, rules):
    monkeypatch.setattr(released_namespaces, "_TIMEOUT_SECONDS", 0)

    with pytest.raises(NotReady) as raised:
        released(status, rules=rules)

    assert "FT-CAP-050" in str(raised.value)


def made_by(tenant, name, **more):
    return {"metadata": {"name": name, "labels": {"toolkit.fluxcd.io/tenant": tenant}, **more}}


@pytest.mark.parametrize("limited", [["dev-team-web"], []], ids=["with", "without"])
def test_a_namespace_without_its_limits_is_named_and_stops_nobody(monkeypatch, limited):
    logged: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", logged.append)
    monkeypatch.setattr(released_namespaces, "_LIMITS_SECONDS", 0)
    gone = made_by("dev-team", "dev-team-gone", deletionTimestamp="2026-01-01T00:00:00Z")
    made = [made_by("dev-team", "dev-team-web"), gone, made_by("left", "left-web")]
    limits = {"items": [{"metadata": {"name": "limit", "namespace": each}} for each in limited]}
    paths = ("/api/v1/limitranges", "/api/v1/resourcequotas", "/apis/networking.k8s.io/v1/networkpolicies")
    asked: list[str] = []

    with api_client({"/api/v1/namespaces": {"items": made}, **dict.fromkeys(paths, limits)}, asked=asked) as api:
        wait_until_replicated(api, ["dev-team"], TenancyConfig.model_validate({"mode": "capsule"}))

    assert any("labelSelector=flux-tenancy/limit%3D" in each for each in asked), asked
    assert codes(logged) == ([] if limited else ["FT-CAP-054"])
    assert all("the namespaces dev-team-web still lack" in each for each in logged)
