"""The stacks that workflows work on are those that have files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from message_codes import codes
from sample_project import write_project, write_stack
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.project.described_stack import described_stacks


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    project = write_project(tmp_path / "project")
    (project / "tenants" / "dev-team.yaml").touch()
    for name in ("staging", "production", "eu"):
        write_stack(project, name)
    monkeypatch.chdir(project)
    return project


def listed(chosen: str = "") -> Result:
    return CliRunner().invoke(app, ["ci", "stacks", "--chosen", chosen], env={"STACKS": '["no-such-stack"]'})


def outputs(result: Result) -> dict[str, list[str]]:
    return {name: json.loads(text) for name, text in (line.split("=", 1) for line in result.stdout.splitlines())}


def test_production_stacks_are_told_apart_from_those_that_come_before(project):
    assert outputs(listed()) == {
        "all": ["eu", "production", "staging"],
        "others": ["eu", "staging"],
        "production": ["production"],
    }


def test_a_stack_file_can_say_that_it_is_production(project):
    write_stack(project, "eu", cluster={"kubeconfig": "kubeconfig", "production": True})

    assert outputs(listed())["production"] == ["eu", "production"]


def test_stacks_can_be_chosen_and_keep_their_order(project):
    assert outputs(listed('["staging", "eu"]'))["all"] == ["staging", "eu"]


def test_a_chosen_stack_goes_by_the_last_part_of_its_name(project):
    chosen = outputs(listed('["acme/flux-tenancy/production"]'))

    assert chosen == {"all": ["production"], "others": [], "production": ["production"]}


@pytest.mark.parametrize("chosen", ["staging", '{"a": 1}', "[1]", '"staging"'])
def test_anything_but_a_list_of_names_is_an_error(project, chosen):
    refused = listed(chosen)

    assert refused.exit_code == 2 and codes(refused.stderr.splitlines()[:1]) == ["FT-REV-519"]


def test_an_unknown_stack_is_an_error(project):
    refused = listed('["staging", "../other"]')

    assert refused.exit_code == 2 and "../other" in refused.stderr


def test_a_stack_that_cannot_be_read_is_an_error_and_not_left_out(project):
    write_stack(project, "eu", cluster={"production": "perhaps"})

    assert listed().exit_code == 2


@pytest.mark.parametrize("name", ["..", ".", "a..b", ".a", "-a", "a b", "a;b", "$(a)", "a\nb", 'a"b', "a" * 101])
def test_a_file_that_is_not_named_after_a_stack_is_an_error_for_all(project, name):
    (project / f"Pulumi.{name}.yaml").write_text("config: {}\n")

    for refused in (listed(), listed('["no-such-stack"]')):
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert codes(refused.stderr.splitlines()[:1]) == ["FT-CFG-630"]


def test_a_name_may_have_dots(project):
    write_stack(project, "eu.west")

    assert "eu.west" in described_stacks(project)
