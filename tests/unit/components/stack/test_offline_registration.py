"""A render has what may be applied: what a cluster has decides about the order and hooks of objects, not about them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_capsule
from recorded_program import Registration, run
from sample_project import pinned, tenant, write_project, write_stack

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.conflicts import NameConflict
from flux_tenancy.components.stack.cluster.findings import Preflight, offline_preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.stack.platform import register_platform
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, MADE_BY_TENANT, TENANT_TYPE
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL

TENANTS = ("dev-team", "ops-team")
IMPERSONATED = {"impersonate": [{"namespace": "infra", "serviceAccounts": ["applier"]}]}
Registered = Mapping[str, Registration]


def objects(config: StackConfig, found: Preflight) -> Registered:
    return run(lambda: register_platform(config, found, {}) and None)


def properties(registered: Registered) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {name: (each.type, each.properties) for name, each in registered.items()}


@pytest.mark.parametrize("mode", ["native", "capsule", "lanes"])
def test_a_render_has_what_an_update_registers_in_a_cluster_that_has_the_namespaces(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", "0".__mul__)
    project = write_project(tmp_path / "project")
    for name in TENANTS:
        (project / "tenants" / f"{name}.yaml").touch()
    sections: dict[str, Any] = {"tenants": {name: tenant(name, name) for name in TENANTS}, "flux": IMPERSONATED}
    if mode == "lanes":
        sections["flux"] = IMPERSONATED | {"lanes": {"tenants": {}}, "setLanes": True}
    if mode == "capsule":
        sections |= {"capsule": pinned(project, sample_capsule, sample_capsule.CAPSULE), "tenancy": {"mode": mode}}
    if mode == "native":
        sections["flux"] = IMPERSONATED | {"setAccounts": True}
        sections |= {"policies": {"podDefaults": "restricted"}, "tenancy": {"requestShares": 4}}
    write_stack(project, **sections)
    config, file = load_offline("staging", project)
    offline = offline_preflight(config, "staging", file.name, project)
    made = {CAPSULE_TENANT_LABEL: TENANTS[0], MANAGED_BY_LABEL: MADE_BY_TENANT}
    facts = replace(offline.cluster.facts, namespaces=dict.fromkeys([*TENANTS, "infra"], {}) | {"made": made})
    state = State({(TENANT_TYPE, TENANTS[0]): {}})
    cluster = replace(offline.cluster, facts=facts, state=state)

    rendered, applied = objects(config, offline), objects(config, replace(offline, cluster=cluster))

    assert properties(applied) == properties(rendered)
    # Rights in a tenant's namespace that exists do not wait for the tenant.
    moved = {name for name, each in applied.items() if each.after != rendered[name].after}
    assert any("flux-" in name for name in moved)
    assert any("infra/" in name for name in rendered)
    assert any(name.endswith(" flux-tenancy-set-lanes") for name in rendered) == (mode == "lanes")
    for defaults in ("pod-defaults", "set-accounts"):
        assert any(name.endswith(f" flux-tenancy-{defaults}") for name in rendered) == (mode == "native")
    schemas = {name: each.after for name, each in rendered.items() if name.startswith("FlowSchema ")}
    level = "PriorityLevelConfiguration flux-tenancy-tenants"
    assert list(schemas.values()) == ([{level}] * len(TENANTS) if mode == "native" else [])


@pytest.mark.parametrize("name", ["Kustomization dev-team/dev-team", "RoleBinding dev-team/flux-impersonation"])
def test_a_name_that_is_taken_stops_only_what_depends_on_it(tmp_path: Path, name: str) -> None:
    project = write_project(tmp_path / "project")
    for each in TENANTS:
        (project / "tenants" / f"{each}.yaml").touch()
    write_stack(project, tenants={each: tenant(each, each) for each in TENANTS})
    config, file = load_offline("staging", project)
    offline = offline_preflight(config, "staging", file.name, project)
    facts = replace(offline.cluster.facts, namespaces=dict.fromkeys(TENANTS, {}))
    taken = NameConflict(TENANTS[0], name, Message("FT-CLU-114", "is taken"))

    registered = objects(config, replace(offline, cluster=replace(offline.cluster, facts=facts, taken=(taken,))))

    assert {each for each, made in registered.items() if "name-taken" in made.hooks.get("before_create", ())} == {name}
    stopped = {name}
    while more := {each for each, made in registered.items() if stopped & (made.after | {made.parent})} - stopped:
        stopped |= more
    assert not {each for each in stopped if not each.partition(" ")[2].startswith(TENANTS[0])}
    # The engine begins nothing after a step that fails, so this one is last.
    last = registered["Tenant dev-team" if registered[name].parent == "Tenant dev-team" else name]
    assert "Kustomization ops-team/ops-team" in last.after


def deletion_rounds(registered: Registered, leaving: set[str]) -> list[set[str]]:
    """What is deleted at the same time, the first first: dependencies through what stays do not count.

    Source: ScheduleDeletes in pkg/resource/deploy/step_generator.go of Pulumi 3.259
    """
    rounds: list[set[str]] = []
    while remaining := leaving.difference(*rounds):
        rounds.insert(
            0, {name for name in remaining if not (registered[name].after | {registered[name].parent}) & remaining}
        )
    return rounds


def test_a_lane_that_leaves_with_its_last_tenant_stays_until_the_tenant_is_pruned(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    for name in TENANTS:
        (project / "tenants" / f"{name}.yaml").touch()

    def registered(*names: str) -> Registered:
        lanes: dict[str, Any] = {name: {} for name in ("tenants", *(["batch"] if len(names) > 1 else []))}
        tenants = {name: tenant(name, name) | ({"lane": "batch"} if name == TENANTS[1] else {}) for name in names}
        write_stack(project, tenants=tenants, flux={"lanes": lanes})
        config, file = load_offline("staging", project)
        return objects(config, offline_preflight(config, "staging", file.name, project))

    before = registered(*TENANTS)
    rounds = deletion_rounds(before, before.keys() - registered(TENANTS[0]).keys())

    def when(part: str) -> list[int]:
        return [number for number, names in enumerate(rounds) for name in names if part in name]

    controllers = [number for name in ("source", "kustomize", "helm") for number in when(f"{name}-controller-batch")]
    flux_objects = [*when("Kustomization ops-team/"), *when("GitRepository ops-team/")]
    assert len(flux_objects) == 2 and controllers
    assert max(flux_objects) < min(controllers)
