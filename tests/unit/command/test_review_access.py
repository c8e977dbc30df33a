"""`flux-tenancy review access`: a table or JSON of a stack that it renders."""

from __future__ import annotations

import json

import pytest
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

from flux_tenancy.command.app import app

TENANT_ROLE = "flux-tenancy-tenant"


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = write_project(tmp_path / "project")
    (project / "tenants" / "dev-team.yaml").touch()
    write_stack(project, tenants={"dev-team": tenant("dev-team", "apps")})
    monkeypatch.chdir(project)
    return project


def run(*arguments):
    return CliRunner().invoke(app, ["review", "access", "--stack", "staging", *arguments])


def test_the_command_renders_a_stack(project):
    found = run("dev-team")

    assert found.exit_code == 0, found.output
    assert "has the role flux-tenancy-tenant" in found.output
    assert json.loads(run("--output", "json").output)["roles"][TENANT_ROLE]
