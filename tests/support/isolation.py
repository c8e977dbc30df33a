"""The isolation suite as a command of tests, and a tenant for it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sample_plan import room_for, tenant_objects
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.flux.controller_rights import impersonation_objects
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.components.tenant.identity import role_binding
from flux_tenancy.components.tenant.limits import TenantLimits, limiting_objects
from flux_tenancy.components.tenant.network import TenantNetwork
from flux_tenancy.components.tenant.role import Role
from flux_tenancy.components.tenant.scope import tenant_meta
from tests.support.project import Project
from tests.support.releases import FLUX_VERSION

TENANT = "suite-team"
"""The tenant of `suite_tenant`, and its namespace."""


@dataclass(frozen=True)
class Answers:
    """The report of a run for one tenant.

    Attributes:
        code: the command's exit status.
        report: the JSON report of the tenant.
    """

    code: int
    report: Mapping[str, Any]

    @property
    def attempts(self) -> dict[str, Any]:
        """Each attempt by its id."""
        return {each["id"]: each for each in self.report["attempts"]}

    def ids(self, verdict: str) -> set[str]:
        return {each["id"] for each in self.report["attempts"] if each["verdict"] == verdict}

    def controls(self, verdict: str) -> dict[str, str]:
        """What was said to each control with this verdict, by its id."""
        return {each["id"]: each["message"] for each in self.report["controls"] if each["verdict"] == verdict}


def run(kubeconfig: Path, *options: str) -> Answers:
    """Run the suite for one tenant."""
    [answers] = _invoked("isolation", "--kubeconfig", str(kubeconfig), *options)
    return answers


def run_stack(project: Project, stack: str, *options: str) -> list[Answers]:
    """Run the suite for the tenants of a stack, and hold its cluster against it."""
    with project.in_environment():
        return _invoked("--cwd", str(project.folder), "isolation", "--stack", stack, *options)


def _invoked(*options: str) -> list[Answers]:
    with contextlib.chdir(Path.cwd()):  # --cwd changes the folder of this process.
        done = CliRunner().invoke(app, [*options, "--output", "json"])
    assert done.exit_code in (0, 1), done.output
    content = json.loads(done.stdout)
    assert content["safe"] is (done.exit_code == 0)
    return [Answers(done.exit_code, each) for each in content["reports"]]


def beginning(ids: Iterable[str], *beginnings: str) -> set[str]:
    return {each for each in ids if each.startswith(beginnings)}


def assert_safe(*reports: Answers) -> None:
    """No attempt has passed, no control was refused, all that is in force is as intended, and the command says so.

    Args:
        reports: all reports of one run, whose exit code is that of the worst.
    """
    for each in reports:
        _assert_safe(each)
    assert {each.code for each in reports} == {0}


def _assert_safe(answers: Answers) -> None:
    passed, refused = answers.ids("passed"), answers.controls("refused")
    assert passed == set(), [answers.attempts[each] for each in passed]
    assert not refused, refused
    assert not answers.report["inventory"], answers.report["inventory"]


def suite_tenant() -> Iterator[dict[str, Any]]:
    """The objects of a tenant for the suite alone, as a stack makes them, with a role that leaves it to admission."""
    place = tenant_meta(TENANT, TENANT)
    config = TenantConfig.model_validate(
        {"namespaces": [{"name": TENANT}], "source": {"url": f"https://git.example.com/{TENANT}/apps"}}
    )
    objects = tenant_objects(TENANT, config, TenancyConfig())
    yield from objects.namespaces
    yield from limiting_objects(place, TenantLimits(), TenantNetwork.DEFAULT_DENY, room_for(config, TENANT))
    yield objects.identity
    yield role_binding(TENANT, TENANT, TENANT, Role.CLUSTER_ADMIN, TENANT)
    yield from impersonation_objects(place, [TENANT], FluxConfig(version=FLUX_VERSION, sha256="0" * 64))
