"""Names of stacks: those that Pulumi allows and that are one folder, one argument and one word of a shell."""

import pytest

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.stack.files.project import StackName, stack_file_name, stack_names

BAD = ["", ".", "..", "a..b", "a.", ".a", "-a", "_a", "a b", "a;b", "$(a)", "`a`", "a\n", "a'b", "ä", "a" * 101]


@pytest.mark.parametrize("name", ["staging", "production", "eu-1", "eu.west", "Dev_2", "1", "a" * 100])
def test_what_a_stack_may_be_called(tmp_path, name):
    file = tmp_path / f"Pulumi.{name}.yaml"
    file.touch()

    assert stack_file_name(name) == stack_file_name(f"acme/platform/{name}") == file.name
    assert stack_names(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("staging", StackName("staging")),
        ("acme/staging", StackName("staging", organization="acme")),
        ("acme/platform/staging", StackName("staging", "platform", "acme")),
    ],
)
def test_a_name_has_the_parts_that_pulumi_takes(name, parts):
    assert StackName.parse(name) == parts


@pytest.mark.parametrize("name", [*BAD, *(f"acme/{name}" for name in BAD), "../a", "a/../b", "/a", "a/b/c/d"])
def test_what_no_stack_may_be_called(name):
    with pytest.raises(ConfigurationError) as raised:
        stack_file_name(name)

    [problem] = raised.value.problems
    assert problem.code == "FT-CFG-630"
    assert problem.file.isprintable() and str(problem).isprintable()


def test_each_file_that_is_not_named_after_a_stack_is_named(tmp_path):
    for name in ("..", "staging", "a;b"):
        (tmp_path / f"Pulumi.{name}.yaml").touch()

    with pytest.raises(ConfigurationError) as raised:
        stack_names(tmp_path)

    assert [each.file for each in raised.value.problems] == ["Pulumi....yaml", "Pulumi.a;b.yaml"]


def test_the_projects_own_file_is_none_of_a_stack(tmp_path):
    (tmp_path / "Pulumi.yaml").touch()

    assert stack_names(tmp_path) == []
