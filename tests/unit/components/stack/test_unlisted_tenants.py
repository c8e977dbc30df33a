"""A tenant file that no stack lists is a warning; one that another stack lists, or may list, is not."""

from __future__ import annotations

import pytest

from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.stack.files.stack_file import read_stack_file
from flux_tenancy.components.stack.files.tenant_files import unlisted_tenants


@pytest.fixture
def project(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    (tmp_path / "Pulumi.eu.yaml").write_text("config: {p:tenants: {shop: {}}}\n")
    (tmp_path / "tenants").mkdir()
    for name in ("shop", "blog"):
        (tmp_path / "tenants" / f"{name}.yaml").touch()
    return tmp_path


def warnings(project):
    file = read_stack_file("eu", read_project_file(project))
    return [str(each) for each in unlisted_tenants(["shop"], file, project)]


def test_a_file_that_no_stack_lists_is_named_with_the_stack_that_could(project):
    (project / "Pulumi.us.yaml").write_text("config: {p:tenants: {shop: {}}}\n")

    [warning] = warnings(project)

    assert warning.startswith(
        "tenants/blog.yaml: no stack lists this tenant; list it below `tenants` in Pulumi.eu.yaml"
    )


@pytest.mark.parametrize(
    "other",
    [
        "config: {p:tenants: {blog: {}}}",
        "config: {p:tenants: {blog: null}}",
        "config: {p:tenants: '{\"blog\": {}}'}",
        "config: {p:tenants: {secure: abc}}",
        "config: {p:tenants: [",
        "environment: [shared]",
    ],
    ids=["listed", "without a value", "as JSON", "encrypted", "not YAML", "environment"],
)
def test_a_file_that_another_stack_lists_or_may_list_is_no_warning(project, other):
    (project / "Pulumi.us.yaml").write_text(f"{other}\n")

    assert warnings(project) == []


def test_a_tenant_that_all_stacks_share_is_listed(project):
    shared = "config: {p:tenants.blog: {value: {}}}"
    (project / "Pulumi.yaml").write_text(f"name: p\nruntime: python\n{shared}\n")

    assert warnings(project) == []
