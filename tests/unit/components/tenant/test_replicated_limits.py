"""A policy that asks for a limit comes after the limit, and before the tenant may make a namespace."""

import hashlib
import json

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes
from recorded_program import run
from sample_capsule import CAPSULE, chart_archive
from sample_project import tenant, write_project, write_stack

from components.policies.limits_first import limits_first
from components.stack.offline import load_offline, offline_preflight
from components.stack.platform import register_platform
from components.stack.project_file import read_project_file
from components.tenant import replicated_limits
from components.tenant.replicated_limits import wait_until_replicated
from components.tenant.tenancy_config import TenancyConfig

TENANCY = TenancyConfig.model_validate({"mode": "capsule"})
TENANTS = ("dev-team", "ops-team")


def test_the_policies_come_between_all_replications_and_the_right_to_make_namespaces(tmp_path):
    project, archive = write_project(tmp_path / "project"), chart_archive()
    (project / "capsule.tgz").write_bytes(archive)
    section = CAPSULE | {"sha256": hashlib.sha256(archive).hexdigest(), "chart": {"bundle": "capsule.tgz"}}
    for name in TENANTS:
        (project / "tenants" / f"{name}.yaml").touch()
    tenants = {name: tenant(name, name) for name in TENANTS}
    write_stack(project, capsule=section, tenancy={"mode": "capsule"}, tenants=tenants)
    described = read_project_file(project)
    config, file = load_offline("staging", project, described)
    found = offline_preflight(config, "staging", file.name, project)

    resources = run(lambda: register_platform(config, found, {}) and None)

    limits = {f"{each['kind']} {each['metadata']['name']}" for each in limits_first(TENANCY)}
    of_capsule = {f"{kind}{name}" for name in TENANTS for kind in ("Tenant ", "GlobalTenantResource flux-tenancy-")}
    assert len(limits) > 3
    for name in limits:
        assert of_capsule <= resources[name].after
        assert resources[name].hooks["before_create"] == ["limits-replicated"]
    for name in TENANTS:
        assert limits <= resources[f"TenantOwner {name}"].after
        assert not limits & resources[f"GlobalTenantResource flux-tenancy-{name}"].after


def namespace(name, tenant="dev-team", **more):
    return {"metadata": {"name": name, "labels": {"toolkit.fluxcd.io/tenant": tenant}, **more}}


@pytest.mark.parametrize("limited", [["dev-team-web"], []], ids=["with", "without"])
def test_a_namespace_without_its_limits_is_named_and_stops_nobody(monkeypatch, limited):
    logged: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", logged.append)
    monkeypatch.setattr(replicated_limits, "_TIMEOUT_SECONDS", 0)
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
    assert all("the namespaces dev-team-web do not" in each for each in logged)
