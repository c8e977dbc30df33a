"""`flux-tenancy tenant suspend` and `resume`: what they change in the files, and when they refuse."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
import yaml
from tenants_project import TenantsProject, tenants_project

STAGING = ("--stack", "staging", "--no-preview")


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    return tenants_project(tmp_path, monkeypatch)


def changed(project: TenantsProject, *arguments: str, stack: str = "staging") -> list[str]:
    """The lines of the stack's file that a command changes, without their indentation."""
    before = project.read(f"Pulumi.{stack}.yaml").splitlines()
    project.told(*arguments)
    lines = difflib.ndiff(before, project.read(f"Pulumi.{stack}.yaml").splitlines())
    return [f"{line[0]}{line[2:].strip()}" for line in lines if line[0] in "-+"]


def test_a_tenant_is_suspended_and_resumed_in_the_stack_alone(project):
    before = project.files()

    assert changed(project, "suspend", "dev-team", *STAGING) == [
        "-sync: {path: ./staging}   # as long as they like",
        "+sync: {path: ./staging, suspend: true}   # as long as they like",
    ]
    project.told("resume", "dev-team", *STAGING)

    assert project.files() == before


def test_a_suspended_base_is_resumed_by_the_stack(project):
    base = project.folder / "tenants/ops-team.yaml"
    base.write_text(base.read_text() + "  suspend: true\n")

    assert changed(project, "resume", "ops-team", *STAGING) == [
        "-ops-team: {}",
        "+ops-team:",
        "+sync:",
        "+suspend: false",
    ]


WITH_SYNCS = """\
syncs:
  jobs: {path: ./jobs}
  tools: {source: tools}
sources:
  tools: {kind: GitRepository, url: "https://git.example.com/tools"}
  charts: {kind: HelmRepository, url: "https://charts.example.com"}
releases:
  podinfo: {source: charts, chart: podinfo, suspend: true}
"""


@pytest.fixture
def several(project: TenantsProject) -> TenantsProject:
    """dev-team has two further syncs: one of its own repository, one of another source."""
    base = project.folder / "tenants/dev-team.yaml"
    base.write_text(base.read_text() + WITH_SYNCS)
    return project


def entry(project: TenantsProject) -> dict[str, Any]:
    config = yaml.safe_load(project.read("Pulumi.staging.yaml"))["config"]
    found: dict[str, Any] = config["flux-tenancy:tenants"]["dev-team"]
    return found


def test_all_syncs_and_releases_of_a_tenant_are_suspended_and_resumed(several):
    several.told("suspend", "dev-team", *STAGING)
    suspended = entry(several)
    several.told("resume", "dev-team", *STAGING)

    assert suspended == {
        "sync": {"path": "./staging", "suspend": True},
        "syncs": {"jobs": {"suspend": True}, "tools": {"suspend": True}},
        "releases": {"podinfo": {"suspend": True}},
    }
    assert entry(several) == {"sync": {"path": "./staging"}, "releases": {"podinfo": {"suspend": False}}}


def test_a_tenant_with_releases_alone_is_suspended(project):
    releases = "releases: {podinfo: {source: charts, chart: podinfo}}\n"
    sources = "sources: {charts: {kind: HelmRepository, url: https://charts.example.com}}\n"
    (project.folder / "tenants/ops-team.yaml").write_text(f"namespaces: [{{name: tools}}]\n{sources}{releases}")

    assert changed(project, "suspend", "ops-team", *STAGING) == [
        "-ops-team: {}",
        "+ops-team:",
        "+releases:",
        "+podinfo:",
        "+suspend: true",
    ]


def test_the_change_is_shown_before_the_preview(project, monkeypatch):
    monkeypatch.setattr(
        "flux_tenancy.operations.tenants.lifecycle.show_preview", lambda stack, folder: print(f"preview of {stack}")
    )

    out = project.told("suspend", "ops-team", "--stack", "staging")

    assert out.splitlines() == [
        "--- a/Pulumi.staging.yaml",
        "+++ b/Pulumi.staging.yaml",
        *out.splitlines()[2:4],
        "-        ops-team: {}",
        "+        ops-team:",
        "+          sync:",
        "+            suspend: true",
        "     # Of one Git host.",
        "preview of staging",
        "Next: review and commit the files, then run `pulumi up --stack staging`.",
    ]


def test_what_the_files_say_already_is_no_change(project):
    assert project.told("resume", "ops-team", *STAGING) == "The files say so already.\n"


def test_each_stack_without_the_tenant_is_told(project):
    error = project.refused("offboard", "shop", "--no-backup", *STAGING, "--stack", "production")

    assert (
        "shop is not listed in Pulumi.staging.yaml" in error and "shop is not listed in Pulumi.production.yaml" in error
    )
