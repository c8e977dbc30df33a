"""`fleet.yaml`: the waves of stacks, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flux_tenancy.operations.fleet import FILE, read_fleet
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


def test_a_stack_may_name_its_organization_and_project(project):
    (project / FILE).write_text(FLEET.replace("[staging]", "[acme/platform/staging]"))

    assert read_fleet(project).waves[0].stacks == ("acme/platform/staging",)
