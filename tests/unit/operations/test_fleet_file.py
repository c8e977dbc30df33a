"""`fleet.yaml`, and the same order for CI and for the operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flux_tenancy.operations.fleet import (
    FILE,
    OPERATOR_NAME_LIMIT,
    Fleet,
    ci_matrix,
    operator_name,
    operator_stacks,
    read_fleet,
)
from flux_tenancy.project.errors import OperationError

FLEET = """
parallel: 2
waves:
  - {name: staging, stacks: [staging]}
  - {name: regions, stacks: [eu-1, us-1]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for stack in ("staging", "eu-1", "us-1"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text("")
    (tmp_path / FILE).write_text(FLEET)
    return tmp_path


def test_a_fleet_has_its_stacks_in_waves(project):
    fleet = read_fleet(project)

    assert [(each.name, each.stacks) for each in fleet.waves] == [
        ("staging", ("staging",)),
        ("regions", ("eu-1", "us-1")),
    ]
    assert (fleet.parallel, fleet.ready_timeout) == (2, "10m")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[staging]", "[stagin]", "waves: stack 'stagin' has no Pulumi.stagin.yaml"),
        ("[staging]", "[eu-1]", "waves: 'eu-1' is listed twice; remove"),
        ("[staging]", "[acme/eu-1]", "waves: 'eu-1' is listed twice; remove"),
        ("[staging]", "[acme/stagin]", "waves: stack 'stagin' has no Pulumi.stagin.yaml"),
        ("[staging]", "[acme/p/../staging]", "'acme/p/../staging' is not a valid stack name"),
        ("[eu-1, us-1]", "[eu-1, eu-1]", "waves: 'eu-1' is listed twice"),
        ("name: regions", "name: staging", "waves: 'staging' is listed twice"),
        ("[staging]", "[]", "waves[0].stacks: "),
        ("parallel: 2", "parallel: 0", "parallel: must be at least 1, got 0"),
        ("parallel: 2", "paralell: 2", "paralell: is an unknown key"),
        ("parallel: 2", "readyTimeout: 5", "readyTimeout: 5 is not a duration with its unit"),
        ("parallel: 2", "parallel: 2\nparallel: 3", "duplicate key"),
    ],
)
def test_bad_input_is_refused_with_its_place(project, before, after, said):
    (project / FILE).write_text(FLEET.replace(before, after))

    with pytest.raises(OperationError) as refused:
        read_fleet(project)

    assert refused.value.report.startswith("error: ") and said in refused.value.report


def test_all_problems_of_the_file_are_told(project):
    (project / FILE).write_text(FLEET.replace("[staging]", "[stagin, eu-1]"))

    with pytest.raises(OperationError) as refused:
        read_fleet(project)

    assert len(refused.value.problems) == 2


def test_a_project_without_the_file_is_told_so(project):
    (project / FILE).unlink()

    with pytest.raises(OperationError, match="fleet.yaml: cannot be read"):
        read_fleet(project)


def test_a_workflow_has_a_matrix_for_each_wave(project):
    assert ci_matrix(read_fleet(project)) == {
        "staging": {"fail-fast": True, "max-parallel": 2, "matrix": {"stack": ["staging"]}},
        "regions": {"fail-fast": True, "max-parallel": 2, "matrix": {"stack": ["eu-1", "us-1"]}},
    }


def test_the_operator_waits_for_the_wave_before(project):
    first, second, third = operator_stacks(read_fleet(project), "platform", "acme", "https://git.example.com/p", "main")

    assert first["metadata"]["name"] == "platform-staging"
    assert (first["spec"]["stack"], "prerequisites" in first["spec"]) == ("acme/platform/staging", False)
    assert [each["spec"]["prerequisites"] for each in (second, third)] == [[{"name": "platform-staging"}]] * 2
    assert yaml.safe_load(yaml.safe_dump(second)) == second


def test_a_stack_may_name_its_organization_and_project(project):
    (project / FILE).write_text(FLEET.replace("[staging]", "[acme/platform/staging]"))

    fleet = read_fleet(project)
    first, second, _ = operator_stacks(fleet, "platform", "others", "https://git.example.com/p", "main")

    assert ci_matrix(fleet)["staging"]["matrix"] == {"stack": ["acme/platform/staging"]}
    assert (first["metadata"]["name"], first["spec"]["stack"]) == ("platform-staging", "acme/platform/staging")
    assert second["spec"]["stack"] == "others/platform/eu-1"
    assert second["spec"]["prerequisites"] == [{"name": "platform-staging"}]


@pytest.mark.parametrize("stack", ["production", "Production", "pro.duction", "p" * 60, "production-" + "x" * 40])
def test_a_stack_has_a_name_that_the_operator_takes(stack):
    name = operator_name("platform", stack)

    assert len(name) <= OPERATOR_NAME_LIMIT and name == name.lower() and "." not in name
    assert name != operator_name("platform", f"{stack}y")


def test_names_that_differ_in_what_a_label_cannot_have_stay_different():
    assert len({operator_name("p", stack) for stack in ("eu-1", "eu.1", "EU-1", "eu_1")}) == 4


def test_a_fleet_of_one_wave_waits_for_nothing():
    fleet = Fleet.model_validate({"waves": [{"name": "all", "stacks": ["a", "b"]}]})

    assert all("prerequisites" not in each["spec"] for each in operator_stacks(fleet, "p", "o", "u", "main"))
