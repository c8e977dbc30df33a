"""`flux-tenancy review policy --base`: protected objects that a change deletes."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.config.types import today
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.rules import stacks
from flux_tenancy.review.versions import Version

TENANTS = {name: tenant(name, namespace) for name, namespace in (("dev-team", "apps"), ("ops-team", "tools"))}
WITHOUT_OPS = {"dev-team": TENANTS["dev-team"]}


def git(folder, *arguments):
    identity = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose branch main has the stack `production` with two tenants."""
    folder = write_project(tmp_path / "project")
    for name in TENANTS:
        (folder / "tenants" / f"{name}.yaml").touch()
    write_stack(folder, "production", tenants=TENANTS)
    git(folder, "init", "--initial-branch=main")
    commit(folder, "Describe production")
    git(folder, "switch", "--create", "change")
    monkeypatch.chdir(folder)
    return folder


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


def ran(*arguments):
    return CliRunner().invoke(app, ["review", "policy", *arguments])


def test_the_deletion_of_a_protected_namespace_is_a_finding(project):
    write_stack(project, "production", tenants=WITHOUT_OPS)

    done = ran("--base", "main")

    assert done.exit_code == 1
    assert "production: 1 finding\n" in done.output
    assert "protected-deletion of tenant ops-team: Namespace tools is protected and would be deleted" in done.output
    assert ran().exit_code == 0  # Without a base there is nothing to compare.


def test_a_change_that_deletes_nothing_has_no_finding(project, in_process):
    write_stack(project, "production", tenants=TENANTS, flux={"profile": "single-tenant"})

    assert ran("--base", "main").exit_code == 0


def test_a_change_cannot_lift_the_protection_and_use_it_at_once(project, in_process):
    cluster = {"kubeconfig": "kubeconfig", "protect": False, "production": False}
    write_stack(project, "production", tenants=WITHOUT_OPS, cluster=cluster)

    assert ran("--base", "main").exit_code == 1

    write_stack(project, "production", tenants=TENANTS, cluster=cluster)
    commit(project, "Lift the protection")
    git(project, "branch", "--force", "main")
    write_stack(project, "production", tenants=WITHOUT_OPS, cluster=cluster)

    assert ran("--base", "main").exit_code == 0


def test_a_deletion_can_be_waived(project, in_process):
    waiver = {
        "rule": "protected-deletion",
        "resource": "Namespace tools",
        "reason": "The team has left.",
        "expires": str(today() + timedelta(days=3)),
    }
    write_stack(project, "production", tenants=WITHOUT_OPS, review={"waivers": [waiver]})

    done = ran("--base", "main")

    assert done.exit_code == 0 and "production: no findings, 1 waived\n" in done.output


def test_a_tenant_leaves_in_two_changes_without_a_finding(project, in_process):
    leaving = TENANTS["ops-team"] | {"state": "leaving"}
    write_stack(project, "production", tenants=WITHOUT_OPS | {"ops-team": leaving})

    assert ran("--base", "main").exit_code == 0

    commit(project, "Let ops-team leave")
    git(project, "branch", "--force", "main")
    write_stack(project, "production", tenants=WITHOUT_OPS)

    assert ran("--base", "main").exit_code == 0


def test_a_new_stack_deletes_nothing(project, in_process):
    write_stack(project, "eu-production", tenants=WITHOUT_OPS)

    assert ran("--base", "main").output == "eu-production: no findings\nproduction: no findings\n"


def test_a_base_that_cannot_be_rendered_is_an_error(project):
    write_stack(project, "production", flux={"sha256": "5f" * 32})
    commit(project, "Pin another release")
    git(project, "branch", "--force", "main")
    write_stack(project, "production")

    done = ran("--base", "main")

    assert done.exit_code == 2 and "Pulumi.production.yaml: cannot be compared with the merge base" in done.output


def test_an_unknown_base_is_an_error(project):
    done = ran("--base", "no-such-branch")

    assert done.exit_code == 2 and "no-such-branch" in done.output
