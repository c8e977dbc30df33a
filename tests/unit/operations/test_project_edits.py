"""Changes to files of a project: what somebody else writes in the meantime stays."""

from __future__ import annotations

import pytest
from tenants_project import TenantsProject, write_tenants_project

from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.project.errors import OperationError


@pytest.fixture
def project(tmp_path) -> TenantsProject:
    return TenantsProject(write_tenants_project(tmp_path))


@pytest.mark.parametrize("name", ["Pulumi.production.yaml", "tenants/shop.yaml"])
def test_what_somebody_else_has_written_meanwhile_stays(project, name):
    edits = ProjectEdits(project.folder)
    edits.create("tenants/shop.yaml", "namespaces: [{name: shop}]\n")
    for stack in ("staging", "production"):
        edits.set(stack, ("tenants", "ops-team", "state"), "leaving")
    with (project.folder / name).open("a") as file:
        file.write("# of somebody else\n")
    before = project.files()

    with pytest.raises(OperationError) as refused:
        edits.apply()

    assert refused.value.report == (
        f"error: somebody else has written {name.rpartition('/')[2]} while the command ran (FT-OPS-317)\n"
        "remedy: run the command again"
    )
    assert project.files() == before


def test_a_file_that_nobody_else_has_written_is_changed(project):
    edits = ProjectEdits(project.folder)
    edits.set("staging", ("tenants", "ops-team", "state"), "leaving")

    edits.apply(["staging"])

    assert "state: leaving" in project.read("Pulumi.staging.yaml")
