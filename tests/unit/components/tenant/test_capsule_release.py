"""Namespaces that leave a Tenant of Capsule and outlive it."""

import json
from types import SimpleNamespace
from typing import cast

import pulumi
import pytest
from kubernetes import client
from loopback import serving

from flux_tenancy.components.cluster.hooks import NotReady
from flux_tenancy.components.tenant.capsule import released_namespaces
from flux_tenancy.components.tenant.capsule.released_namespaces import Releases, release, without_tenant

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
NAMESPACE = json.dumps({"metadata": METADATA}).encode()


def released(status: bytes, bodies: list[bytes] | None = None, rules: int = 404) -> None:
    answers = {"/api/v1/namespaces/apps": NAMESPACE, TENANT: status, RULES: b'{"metadata": {}}'}
    with serving(answers, bodies=bodies, statuses={RULES: rules}) as url:
        release(client.ApiClient(client.Configuration(host=url)), "apps", "dev-team")


def test_the_update_goes_on_when_the_tenant_no_longer_lists_the_namespace():
    bodies: list[bytes] = []

    released(b'{"status": {"namespaces": ["dev-team-web"]}}', bodies)

    assert [json.loads(each) for each in bodies] == [without_tenant({"metadata": METADATA})]


@pytest.mark.parametrize(("status", "rules"), [(b'{"status": {"namespaces": ["apps"]}}', 404), (b"{}", 200)])
def test_the_update_fails_as_long_as_capsule_holds_the_namespace(monkeypatch, status, rules):
    monkeypatch.setattr(released_namespaces, "_TIMEOUT_SECONDS", 0)

    with pytest.raises(NotReady) as raised:
        released(status, rules=rules)

    assert "FT-CAP-050" in str(raised.value)
