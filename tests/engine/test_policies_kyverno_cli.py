"""Kyverno's policies without a cluster: the requests of the table, evaluated by Kyverno's command line.

It knows no users, no rights and no request for a part of an object, and the two sides of an UPDATE are the same to it.
So whether the user is the platform is answered here, and the rows that it cannot judge are listed, never left out.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings
from flux_tenancy.components.allowlists.cel import boolean
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.rendering import kyverno, object_name
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.vocabulary.manifests import merge_patch
from tests.support.policy_cases import CASES, CONFIGS, NAMESPACE_OBJECTS, RELAXED, Case, User

# tests/e2e/test_admission.py sends the same to the real Kyverno; this shows that its command line can be used, too.
pytestmark = pytest.mark.exhaustive

TOOL = "kubectl-kyverno"
# They read the name of the user, which no file of values can give, or of the object, which has to be unique here.
READING_NAMES = {PolicyName.PLATFORM_OBJECTS, PolicyName.RELEASE_SIZE, PolicyName.STATUS_WRITES}
NATIVE_ONLY = {policy.name for policy in policies(PoliciesConfig()) if policy.native_only}
NOT_JUDGED = [
    case
    for case in CASES
    if case.operation == "UPDATE"
    or case.subresource
    or case.user is User.CONTROLLER
    or case.policy in READING_NAMES | NATIVE_ONLY
]
JUDGED = [case for case in CASES if case not in NOT_JUDGED]


@dataclass(frozen=True)
class Run:
    """What one call of the command line has in common."""

    policy: PolicyName
    config: str
    operation: str
    platform: bool

    def __str__(self) -> str:
        who = "platform" if self.platform else "tenant"
        return f"{self.policy.value} {self.config} {self.operation} {who}"

    @classmethod
    def of(cls, case: Case) -> Run:
        return cls(case.policy, case.config, case.operation, case.user in (User.PLATFORM, User.PATCHER))


RUNS = [(run, list(cases)) for run, cases in groupby(sorted(JUDGED, key=lambda case: str(Run.of(case))), Run.of)]


@pytest.fixture(scope="module")
def tool() -> Path:
    return ensure(Settings.load(), [TOOL])[TOOL]


def answered(manifest: dict[str, Any], platform: bool) -> dict[str, Any]:
    """The policy with its question about the user answered; without a cluster there is nobody to ask."""
    variables = [
        variable | ({"expression": boolean(platform)} if variable["name"] == "platform" else {})
        for variable in manifest["spec"]["variables"]
    ]
    return manifest | {"spec": manifest["spec"] | {"variables": variables}}


def judge(tool: Path, folder: Path, run: Run, cases: list[Case]) -> Iterator[tuple[Case, list[str]]]:
    """Each case with the messages of its policy."""
    [policy] = [each for each in policies(CONFIGS[run.config], RELAXED.get(run.config, ())) if each.name is run.policy]
    values = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Value",
        "metadata": {"name": "values"},
        "namespaces": list(NAMESPACE_OBJECTS.values()),
        "globalValues": {"request.operation": run.operation},
    }
    own_names = [case.target["metadata"]["name"] for case in cases]
    names = {
        own if own_names.count(own) == 1 else f"case-{number}": case
        for number, (own, case) in enumerate(zip(own_names, cases, strict=True))
    }
    objects = [merge_patch(case.target, {"metadata": {"name": name}}) for name, case in names.items()]
    manifests = [answered(each, run.platform) for each in kyverno(policy, PolicyMode.ENFORCE)]
    for file, documents in (("policy", manifests), ("values", [values]), ("objects", objects)):
        (folder / f"{file}.yaml").write_text(yaml.safe_dump_all(documents))
    command: list[str | Path] = [tool, "apply", folder / "policy.yaml", "--resource", folder / "objects.yaml"]
    options: list[str | Path] = ["--values-file", folder / "values.yaml", "--policy-report", "--output-format", "json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    results = json.loads(done.stdout).get("results") or []
    for name, case in names.items():
        own = [result for result in results if result["resources"][0]["name"] == name]
        assert {result["policy"] for result in own} <= {object_name(run.policy)}
        yield case, [result["message"] for result in own if result["result"] in ("fail", "error")]


@pytest.mark.parametrize(("run", "cases"), RUNS, ids=[str(run) for run, _ in RUNS])
def test_the_command_line_agrees_with_the_api_server(tool: Path, tmp_path: Path, run: Run, cases: list[Case]) -> None:
    wrong = [
        f"{case.name}: expected {case.refused!r}, found {said}"
        for case, said in judge(tool, tmp_path, run, cases)
        if (case.refused is None) != (said == []) or not all((case.refused or "") in each for each in said)
    ]
    assert wrong == []


def test_cases_beyond_kyvernos_command_line_are_listed() -> None:
    """Each of these rows is the native test's alone, and the whole cluster's."""
    wholly = {case.policy for case in CASES} - {case.policy for case in JUDGED}

    updates = {PolicyName.EPHEMERAL_CONTAINERS, PolicyName.FLUX_REQUESTS}
    assert wholly == READING_NAMES | updates | {PolicyName.VOLUME_CLASSES}
    others = [case for case in NOT_JUDGED if case.policy not in READING_NAMES]
    users = {case.user for case in others if not case.subresource and case.operation != "UPDATE"}
    assert users == {User.CONTROLLER}
    assert len(JUDGED) > 2 * len(NOT_JUDGED)
