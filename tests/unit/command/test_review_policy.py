"""`flux-tenancy review policy`: its report, and how it ends."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.config.types import today

EXPIRES = today() + timedelta(days=30)
ADMIN = {"dev-team": tenant("dev-team", "apps") | {"role": "cluster-admin"}}


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").touch()
    monkeypatch.chdir(folder)
    return folder


def waiver(rule, **keys):
    return {"rule": rule, "reason": "The rollout\nends in June.", "expires": str(EXPIRES)} | keys


def ran(*arguments):
    return CliRunner().invoke(app, ["review", "policy", *arguments])


def test_stacks_in_order_have_no_findings(project):
    write_stack(project, "production")
    write_stack(project, "staging", policies={"engine": "none"})

    done = ran()

    assert (done.exit_code, done.output) == (0, "production: no findings\nstaging: no findings\n")


def test_findings_are_shown_with_their_remedy_and_end_with_1(project):
    waivers = [waiver("policy-not-enforced")]
    policies = {"engine": "native", "mode": "audit"}
    write_stack(project, "production", tenants=ADMIN, policies=policies, review={"waivers": waivers})
    write_stack(project, "staging")

    done = ran()

    assert done.exit_code == 1
    assert (
        done.output
        == f"""\
production: 1 finding, 1 waived
  admin-binding of tenant dev-team: RoleBinding apps/dev-team-reconciler grants ServiceAccount apps/dev-team all \
rights in the namespace apps, through ClusterRole cluster-admin (FT-REV-101)
    remedy: bind a role with fewer rights (tenants.dev-team.role), or agree on a waiver with a reason and an \
expiry date in review.waivers: admin-binding
  policy-not-enforced: policies.mode is audit in a production environment, so violations are allowed (FT-REV-110)
    waived until {EXPIRES}: The rollout ends in June.
staging: no findings
"""
    )


def test_a_stack_whose_findings_are_all_waived_ends_with_0(project):
    write_stack(project, tenants=ADMIN, review={"waivers": [waiver("admin-binding")]})

    done = ran("--stack", "staging")

    assert done.exit_code == 0 and done.output.startswith("staging: no findings, 1 waived\n")


def test_a_grant_that_soon_stops_updates_is_a_warning_and_no_finding(project):
    grant = {"reason": "TICKET-12", "expires": str(today() + timedelta(days=3)), "serviceTypes": ["NodePort"]}
    write_stack(project, tenants={"dev-team": tenant("dev-team", "apps") | {"grants": [grant]}})

    done = ran()

    assert (done.exit_code, done.stdout) == (0, "staging: no findings\n")
    assert done.stderr.startswith("warning: staging: tenant dev-team: grants[0] (TICKET-12) expires on ")
    assert done.stderr.endswith(" (FT-TEN-411)\n")


@pytest.mark.parametrize("prefix", ["", "acme/", "acme/flux-tenancy/"])
def test_one_stack_can_be_checked_alone(project, prefix):
    write_stack(project, "production", tenants=ADMIN)
    write_stack(project, "staging")

    alone = [ran("--stack", f"{prefix}{stack}") for stack in ("staging", "production")]
    assert [each.exit_code for each in alone] == [0, 1]
    assert alone[1].stdout.startswith("production: ")


def test_findings_for_programs_are_json(project):
    review = {"waivers": [waiver("admin-binding", resource="RoleBinding apps/dev-team-reconciler")]}
    write_stack(project, tenants=ADMIN, review=review)

    [found] = json.loads(ran("--output", "json").output)

    assert (found["stack"], found["rule"], found["code"]) == ("staging", "admin-binding", "FT-REV-101")
    assert (found["owner"], found["resource"]) == ("dev-team", "RoleBinding apps/dev-team-reconciler")
    assert found["message"].startswith("grants ") and found["remedy"].startswith("bind a role ")
    assert found["waiver"] == {"reason": "The rollout\nends in June.", "expires": str(EXPIRES)}


def test_errors_end_with_2_and_hide_no_findings(project):
    expired = waiver("admin-binding", expires="2020-01-31")
    write_stack(project, "one", review={"waivers": [expired]})
    write_stack(project, "two", review={"waivers": [expired]})
    write_stack(project, "production", tenants=ADMIN)

    done = ran()

    assert done.exit_code == 2
    assert done.output.startswith("production: 1 finding\n")
    assert "error: 2 errors; nothing was applied:\n" in done.output
    for stack in ("one", "two"):
        assert f"Pulumi.{stack}.yaml: review.waivers[0].expires: '2020-01-31' has passed" in done.output


def test_an_unknown_stack_is_an_error_that_names_the_others(project):
    write_stack(project, "staging")

    done = ran("--stack", "eu-1")

    assert done.exit_code == 2 and "`--stack`: staging" in done.output


def test_a_project_without_stacks_is_an_error(project):
    done = ran()

    assert done.exit_code == 2 and "(FT-REV-120)" in done.output
