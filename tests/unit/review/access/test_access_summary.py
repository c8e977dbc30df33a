"""Who may do what by a render, as a table and as JSON."""

from __future__ import annotations

import io
import json

from rich.console import Console
from sample_access import TENANTS, binding, of, render, role, rule, user

from flux_tenancy.review.access.sentences import RiskLevel
from flux_tenancy.review.access.summary import AccessRow, as_json, as_table, who_may_what

TENANT_ROLE = "flux-tenancy-tenant"


def shown(found):
    written = io.StringIO()
    console = Console(width=160, file=written)
    console.print(as_table(found))
    return written.getvalue()


def test_subjects_have_their_rights_with_place_and_risk():
    reader = role("reader", rule("get list watch", "pods"))
    bindings = [binding("reader", [user("alice")], "apps"), binding("cluster-admin", [user("bob")], name="admin")]

    assert who_may_what(of(reader, *bindings)).rights == (
        AccessRow("user bob", "may do everything (cluster-admin)", "in the whole cluster", RiskLevel.HIGH),
        AccessRow("user alice", "may read Pods", "in apps", RiskLevel.NORMAL),
    )


def test_a_role_that_is_told_by_its_name_is_explained():
    found = who_may_what(render())

    assert (
        AccessRow("Both tenants", f"have the role {TENANT_ROLE}", "in their namespaces", RiskLevel.NORMAL)
        in found.rights
    )
    assert "read and write Alerts, ArtifactGenerators" in found.roles[TENANT_ROLE]
    assert "controllers" not in found.roles  # It has few resources, so its rights are told themselves.


def test_what_the_policies_leave_to_tenants_is_told_without_what_nobody_can_forbid():
    found = who_may_what(render(policies={"serviceTypes": ["ClusterIP", "NodePort"], "finalizers": ["example.com/x"]}))

    allowed = {row.may for row in found.allowances}
    assert {"may create Services of type ClusterIP and NodePort", "may set timeouts of up to 1h"} <= allowed
    assert "may set the finalizer example.com/x" in allowed
    assert not [each for each in allowed if "PriorityClass" in each or "volumes without a claim" in each]


def test_policies_that_refuse_nothing_are_listed_and_leave_everything():
    found = who_may_what(render(policies={"modes": {"service-exposure": "audit"}}))

    assert found.modes == {"service-exposure": "audit"}
    assert not [row for row in found.allowances if "Services" in row.may]


def test_a_single_tenant_has_its_own_rows_and_those_of_others_in_its_namespaces():
    exceptions = {"dev-team": {"policies": {"sources": ["https://git.example.com/dev-team/*"]}}}
    found = who_may_what(render(TENANTS | exceptions, {"sources": {"allowed": []}}), "dev-team")

    assert AccessRow("dev-team", f"has the role {TENANT_ROLE}", "in apps", RiskLevel.NORMAL) in found.rights
    assert AccessRow(
        "dev-team", "may fetch sources from https://git.example.com/dev-team/*", "in apps", RiskLevel.NORMAL
    ) in (found.allowances)
    assert {row.where for row in found.rights} == {"in apps", "in the whole cluster", ""}
    assert "tools" not in shown(found) and "ops-team" not in shown(found)
    assert [row.may for row in found.rights if "impersonate" in row.may] == [
        "may impersonate apps/default and apps/dev-team"
    ]


def test_the_table_shows_names_as_they_are():
    found = shown(who_may_what(of(binding("view", [user("[red]alice[/red]")], "apps"))))

    assert "user [red]alice[/red]" in found
    assert "Kubernetes' role view" in found


def test_json_has_what_the_table_has():
    found = json.loads(as_json(who_may_what(render(policies={"modes": {"service-exposure": "audit"}}))))

    assert set(found) == {"rights", "roles", "allowances", "modes"}
    assert set(found["rights"][0]) == {"who", "may", "where", "risk"}
    assert found["modes"] == {"service-exposure": "audit"}
