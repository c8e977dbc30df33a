"""`flux-tenancy new`: the files of a new project, with its name in them."""

from __future__ import annotations

import re

import pytest
import yaml
from message_codes import code_of_refusal
from typer.testing import CliRunner

from flux_tenancy.command.app import app


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def new(*arguments):
    return CliRunner().invoke(app, ["new", *arguments])


def test_a_project_is_named_like_its_folder_and_has_its_stack(tmp_path):
    done = new("teams/my-platform", "--stack", "eu-1")

    project = tmp_path / "teams" / "my-platform"
    described = yaml.safe_load((project / "Pulumi.yaml").read_text())
    stack = yaml.safe_load((project / "Pulumi.eu-1.yaml").read_text())
    files = [file for file in sorted(project.rglob("*")) if file.is_file()]
    assert done.exit_code == 0, done.stderr
    assert sorted(done.stdout.partition("Next, ")[0].splitlines()) == sorted(
        str(file.relative_to(tmp_path)) for file in files
    )
    assert described["name"] == "my-platform" and "template" not in described
    assert "my-platform:flux" in stack["config"]
    assert stack["config"]["my-platform:cluster"]["context"] == "my-cluster"
    assert stack["config"]["my-platform:tenants"]["my-team"]["sync"]["path"] == "./eu-1"
    assert not [file.name for file in files if re.search(r"\$\{(?!\{)", file.read_text())]


def test_the_context_and_production_are_taken_from_options(tmp_path):
    done = new("my-platform", "--context", "a: #b", "--no-production")

    cluster = yaml.safe_load((tmp_path / "my-platform" / "Pulumi.dev.yaml").read_text())["config"][
        "my-platform:cluster"
    ]
    assert done.exit_code == 0, done.stderr
    assert (cluster["context"], cluster["production"]) == ("a: #b", False)


@pytest.mark.parametrize("there", ["file", "folder with a file"])
def test_nothing_is_overwritten(tmp_path, there):
    found = tmp_path / "platform"
    if there == "file":
        found.write_text("mine")
    else:
        found.mkdir()
        (found / "Pulumi.yaml").write_text("mine")

    assert code_of_refusal(new("platform")) == "FT-CMD-005"
    assert [file.read_text() for file in [found, *tmp_path.rglob("*")] if file.is_file()][-1] == "mine"


def test_a_name_that_pulumi_would_refuse_is_an_error(tmp_path):
    assert code_of_refusal(new("my platform")) == "FT-CMD-004"
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_stack_may_have_is_an_error(tmp_path):
    assert new("platform", "--stack", "../eu").exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()

    assert code_of_refusal(new("file/platform")) == "FT-CMD-008"
