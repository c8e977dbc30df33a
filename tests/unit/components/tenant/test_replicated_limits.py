"""Waiting for the limits of the namespaces that tenants have made."""

import json

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes

from flux_tenancy.components.tenant.capsule import released_namespaces as replicated_limits
from flux_tenancy.components.tenant.capsule.released_namespaces import wait_until_replicated
from flux_tenancy.components.tenant.config import TenancyConfig

TENANCY = TenancyConfig.model_validate({"mode": "capsule"})


def namespace(name, tenant="dev-team", **more):
    return {"metadata": {"name": name, "labels": {"toolkit.fluxcd.io/tenant": tenant}, **more}}


@pytest.mark.parametrize("limited", [["dev-team-web"], []], ids=["with", "without"])
def test_a_namespace_without_its_limits_is_named_and_stops_nobody(monkeypatch, limited):
    logged: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", logged.append)
    monkeypatch.setattr(replicated_limits, "_LIMITS_SECONDS", 0)
    gone = namespace("dev-team-gone", deletionTimestamp="2026-01-01T00:00:00Z")
    made = [namespace("dev-team-web"), gone, namespace("left-web", "left")]
    limits = {"items": [{"metadata": {"name": "limit", "namespace": each}} for each in limited]}
    paths = ("/api/v1/limitranges", "/api/v1/resourcequotas", "/apis/networking.k8s.io/v1/networkpolicies")
    answers = {"/api/v1/namespaces": {"items": made}, **dict.fromkeys(paths, limits)}
    asked: list[str] = []
    with serving({path: json.dumps(each).encode() for path, each in answers.items()}, asked=asked) as server:
        configuration = client.Configuration()
        configuration.host = server
        wait_until_replicated(client.ApiClient(configuration), ["dev-team"], TENANCY)

    assert any("labelSelector=flux-tenancy/limit%3D" in each for each in asked), asked
    assert codes(logged) == ([] if limited else ["FT-CAP-054"])
    assert all("the namespaces dev-team-web still lack" in each for each in logged)
