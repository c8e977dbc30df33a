"""`flux-tenancy review policy`, `render` and `access` of described stacks: what they report and write, how they end."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.config.types import today
from flux_tenancy.review.admission import check
from flux_tenancy.review.admission.program import Answer, FieldError
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.rules import stacks
from flux_tenancy.review.versions import Version

EXPIRES = today() + timedelta(days=30)
ADMIN = {"dev-team": tenant("dev-team", "apps") | {"role": "cluster-admin"}}


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(check, "find_program", lambda: None)
    return folder


def waiver(rule, **keys):
    return {"rule": rule, "reason": "The rollout\nends in June.", "expires": str(EXPIRES)} | keys


def review(*arguments):
    return CliRunner().invoke(app, ["review", *arguments])


def ran(*arguments):
    return review("policy", *arguments)


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


def test_a_grant_that_soon_stops_updates_is_a_warning_and_no_finding(project):
    grant = {"reason": "TICKET-12", "expires": str(today() + timedelta(days=3)), "serviceTypes": ["NodePort"]}
    write_stack(project, tenants={"dev-team": tenant("dev-team", "apps") | {"grants": [grant]}})

    done = ran()

    assert (done.exit_code, done.stdout) == (0, "staging: no findings\n")
    assert done.stderr.startswith("warning: staging: tenant dev-team: grants[0] (TICKET-12) expires on ")
    assert done.stderr.endswith(" (FT-TEN-411)\n")


@pytest.mark.parametrize("prefix", ["", "acme/flux-tenancy/"])
def test_one_stack_can_be_checked_alone(project, prefix):
    write_stack(project, "production", tenants=ADMIN)
    write_stack(project, "staging")

    staging, production = (ran("--stack", f"{prefix}{stack}") for stack in ("staging", "production"))
    assert (staging.exit_code, production.exit_code) == (0, 1)
    assert production.stdout.startswith("production: ")


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


def test_each_stack_gets_a_folder_with_its_digest(project):
    for stack in ("eu", "staging", "us"):
        write_stack(project, stack)

    done = review("render")

    files = project.glob(".render/*/digest.json")
    digests = {path.parent.name: json.loads(path.read_text())["digest"] for path in files}
    assert done.exit_code == 0 and sorted(digests) == ["eu", "staging", "us"]
    assert [line for line in done.stdout.splitlines() if "Digest" in line] == [
        f"Digest: {digests[stack]}" for stack in ("eu", "staging", "us")
    ]
    # Stacks and the folder can be chosen.
    assert review("render", "--stack", "eu,us", "--out", "out").exit_code == 0
    assert sorted(path.name for path in (project / "out").iterdir()) == ["eu", "us"]


def test_a_render_goes_by_the_last_part_of_its_stacks_name(project):
    write_stack(project, "staging")

    assert review("render", "--stack", "acme/flux-tenancy/staging").exit_code == 0
    [written] = project.glob(".render/**/digest.json")
    qualified = json.loads(written.read_text())

    assert review("render", "--stack", "staging").exit_code == 0
    assert qualified == json.loads(written.read_text()) and qualified["stack"] == written.parent.name == "staging"


def test_an_object_that_is_not_accepted_exits_with_1_and_the_other_stacks_are_written(project, monkeypatch):
    for stack in ("eu", "staging"):
        write_stack(project, stack)

    def answers(program, rendered, project):
        wrong = Answer(errors=(FieldError("spec", "is wrong"),)) if rendered.stack == "eu" else Answer()
        return {"an object": wrong}

    monkeypatch.setattr(check, "find_program", lambda: project / "offline-admission")
    monkeypatch.setattr(check, "admission_answers", answers)
    monkeypatch.setattr(check, "refusals", lambda *_: ())
    monkeypatch.setattr(check, "schema_errors", lambda rendered, _: ["spec: is wrong"] * (rendered.stack == "eu"))

    done = review("render")

    assert done.exit_code == 1 and done.stderr.count("FT-REV-303") == 1
    assert (project / ".render" / "staging" / "digest.json").is_file()


def test_an_unknown_stack_is_an_error_before_anything_is_rendered(project):
    write_stack(project, "staging")

    done = review("render", "--stack", "staging", "--stack", "eu")

    assert done.exit_code == 2 and "FT-OPS-002" in done.stderr and not (project / ".render").exists()


@pytest.mark.parametrize("command", ["policy", "render"])
def test_a_project_without_stacks_is_an_error(project, command):
    done = review(command)

    assert done.exit_code == 2 and "FT-REV-120" in done.stderr


def test_a_folder_that_cannot_be_written_is_an_error(project):
    write_stack(project)
    (project / "file").touch()

    done = review("render", "--out", "file")

    assert done.exit_code == 2 and "FT-REV-205" in done.stderr


def test_access_is_a_table_or_json(project):
    write_stack(project)

    found = review("access", "--stack", "staging", "dev-team")

    assert found.exit_code == 0, found.output
    assert "has the role flux-tenancy-tenant" in found.output
    assert json.loads(review("access", "-s", "staging", "-o", "json").output)["roles"]["flux-tenancy-tenant"]


TENANTS = {name: tenant(name, namespace) for name, namespace in (("dev-team", "apps"), ("ops-team", "tools"))}
WITHOUT_OPS = {"dev-team": TENANTS["dev-team"]}


def git(folder, *arguments):
    identity = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def change(project):
    """A change of a project whose branch main has the stack `production` with two tenants."""
    (project / "tenants" / "ops-team.yaml").touch()
    write_stack(project, "production", tenants=TENANTS)
    git(project, "init", "--initial-branch=main")
    commit(project, "Describe production")
    git(project, "switch", "--create", "change")
    return project


@pytest.fixture
def in_process(monkeypatch):
    """The base is rendered at once, and not by a program of its own, which takes seconds."""

    @contextmanager
    def rendering(tree, stacks):
        yield SimpleNamespace(versions=lambda: {stack: Version(render_stack(tree.folder, stack)) for stack in stacks})

    monkeypatch.setattr(stacks, "rendering", rendering)


def commit(folder, subject):
    git(folder, "add", ".")
    git(folder, "commit", "-m", subject)


def test_the_deletion_of_a_protected_namespace_is_a_finding(change):
    write_stack(change, "production", tenants=WITHOUT_OPS)

    done = ran("--base", "main")

    assert done.exit_code == 1
    assert "production: 1 finding\n" in done.output
    assert "protected-deletion of tenant ops-team: Namespace tools is protected and would be deleted" in done.output
    assert ran().exit_code == 0  # Without a base there is nothing to compare.


def test_a_change_that_deletes_nothing_has_no_finding(change, in_process):
    write_stack(change, "production", tenants=TENANTS, flux={"profile": "single-tenant"})

    assert ran("--base", "main").exit_code == 0


def test_a_change_cannot_lift_the_protection_and_use_it_at_once(change, in_process):
    cluster = {"kubeconfig": "kubeconfig", "protect": False, "production": False}
    write_stack(change, "production", tenants=WITHOUT_OPS, cluster=cluster)

    assert ran("--base", "main").exit_code == 1

    write_stack(change, "production", tenants=TENANTS, cluster=cluster)
    commit(change, "Lift the protection")
    git(change, "branch", "--force", "main")
    write_stack(change, "production", tenants=WITHOUT_OPS, cluster=cluster)

    assert ran("--base", "main").exit_code == 0


def test_a_deletion_can_be_waived(change, in_process):
    waiver = {
        "rule": "protected-deletion",
        "resource": "Namespace tools",
        "reason": "The team has left.",
        "expires": str(today() + timedelta(days=3)),
    }
    write_stack(change, "production", tenants=WITHOUT_OPS, review={"waivers": [waiver]})

    done = ran("--base", "main")

    assert done.exit_code == 0 and "production: no findings, 1 waived\n" in done.output


def test_a_tenant_leaves_in_two_changes_without_a_finding(change, in_process):
    leaving = TENANTS["ops-team"] | {"state": "leaving"}
    write_stack(change, "production", tenants=WITHOUT_OPS | {"ops-team": leaving})

    assert ran("--base", "main").exit_code == 0

    commit(change, "Let ops-team leave")
    git(change, "branch", "--force", "main")
    write_stack(change, "production", tenants=WITHOUT_OPS)

    assert ran("--base", "main").exit_code == 0


def test_a_new_stack_deletes_nothing(change, in_process):
    write_stack(change, "eu-production", tenants=WITHOUT_OPS)

    assert ran("--base", "main").output == "eu-production: no findings\nproduction: no findings\n"


def test_a_base_that_cannot_be_rendered_is_an_error(change):
    write_stack(change, "production", flux={"sha256": "5f" * 32})
    commit(change, "Pin another release")
    git(change, "branch", "--force", "main")
    write_stack(change, "production")

    done = ran("--base", "main")

    assert done.exit_code == 2 and "Pulumi.production.yaml: cannot be compared with the merge base" in done.output


def test_an_unknown_base_is_an_error(change):
    done = ran("--base", "no-such-branch")

    assert done.exit_code == 2 and "no-such-branch" in done.output
