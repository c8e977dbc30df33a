"""In which order a stack with Capsule is applied, and what it waits for."""

from itertools import pairwise
from typing import Any

import pytest
import sample_capsule
import sample_kyverno
from recorded_program import run
from sample_project import pinned, tenant, write_project, write_stack

from flux_tenancy.components.policies.native_only import limits_first
from flux_tenancy.components.stack.cluster.findings import offline_preflight
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.stack.platform import register_platform
from flux_tenancy.components.tenant.config import TenancyConfig

TENANCY = TenancyConfig.model_validate({"mode": "capsule"})
TENANTS = ("dev-team", "ops-team")


def platform(folder, engine):
    """What is registered for a stack in which two tenants make namespaces."""
    project = write_project(folder / "project")
    sections: dict[str, Any] = {"capsule": pinned(project, sample_capsule, sample_capsule.CAPSULE)}
    if engine != "native":
        sections["kyverno"] = pinned(project, sample_kyverno, sample_kyverno.KYVERNO)
    for name in TENANTS:
        (project / "tenants" / f"{name}.yaml").touch()
    policies = {"engine": engine, "sources": {"allowed": ["*"]}}
    tenants = {name: tenant(name, name) for name in TENANTS}
    write_stack(project, tenancy={"mode": "capsule"}, policies=policies, tenants=tenants, **sections)
    config, file = load_offline("staging", project)
    found = offline_preflight(config, "staging", file.name, project)
    return run(lambda: register_platform(config, found, {}) and None)


def test_the_policies_of_limits_wait_for_the_limits_and_come_before_the_right_to_make_namespaces(tmp_path):
    resources = platform(tmp_path, "native")

    limits = [f"{each['kind']} {each['metadata']['name']}" for each in limits_first(TENANCY)]
    assert len(limits) > 3
    for previous, name in pairwise(limits):
        assert previous in resources[name].after
    for name in limits:
        assert "limits-replicated" in resources[name].hooks["before_create"]
        # A tenant that cannot be applied would take the others' syncs along.
        assert not {each for each in resources[name].after if "dev-team" in each or "ops-team" in each}
    for name in TENANTS:
        assert limits[-1] in resources[f"TenantOwner {name}"].after
        assert not set(limits) & resources[f"GlobalTenantResource flux-tenancy-{name}"].after


@pytest.mark.parametrize(("engine", "waits"), [("native", False), ("both", True), ("kyverno", True)])
def test_a_tenant_makes_no_namespaces_before_kyverno_admits_what_capsule_writes(tmp_path, engine, waits):
    resources = platform(tmp_path, engine)

    waiting = {name for name, each in resources.items() if "capsule-admitted" in each.hooks.get("before_create", ())}
    assert waiting == ({f"TenantOwner {name}" for name in TENANTS} if waits else set())
    if waits:
        assert resources["Release kyverno"].properties["values"]["admissionController"]["crdWatcher"] is True
