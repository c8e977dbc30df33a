"""`flux-tenancy review render`: folders with the objects of stacks and their digests."""

from __future__ import annotations

import json

import pytest
from sample_project import write_project, write_stack
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.review.admission import check
from flux_tenancy.review.admission.program import Answer, FieldError


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(check, "find_program", lambda: None)
    return folder


def render(*arguments):
    return CliRunner().invoke(app, ["review", "render", *arguments])


def test_each_stack_gets_a_folder_with_its_digest(project):
    for stack in ("eu", "staging", "us"):
        write_stack(project, stack)

    done = render()

    files = project.glob(".render/*/digest.json")
    digests = {path.parent.name: json.loads(path.read_text())["digest"] for path in files}
    assert done.exit_code == 0 and sorted(digests) == ["eu", "staging", "us"]
    assert [line for line in done.stdout.splitlines() if "Digest" in line] == [
        f"Digest: {digests[stack]}" for stack in ("eu", "staging", "us")
    ]


def test_stacks_and_the_folder_can_be_chosen(project, tmp_path):
    for stack in ("eu", "staging", "us"):
        write_stack(project, stack)

    assert render("--stack", "eu,us", "--out", str(tmp_path / "out")).exit_code == 0

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["eu", "us"]


def test_a_render_goes_by_the_last_part_of_its_stacks_name(project):
    write_stack(project, "staging")

    assert render("--stack", "acme/flux-tenancy/staging").exit_code == 0
    [written] = project.glob(".render/**/digest.json")
    qualified = json.loads(written.read_text())

    assert render("--stack", "staging").exit_code == 0
    assert qualified == json.loads(written.read_text()) and qualified["stack"] == written.parent.name == "staging"


def test_an_object_that_is_not_accepted_exits_with_1_and_the_other_stacks_are_written(project, monkeypatch):
    for stack in ("eu", "staging"):
        write_stack(project, stack)

    def answers(program, rendered, project):
        wrong = Answer(errors=(FieldError("spec", "is wrong"),)) if rendered.stack == "eu" else Answer()
        return {"an object": wrong}

    monkeypatch.setattr(check, "find_program", lambda: project / "offline-admission")
    monkeypatch.setattr(check, "admission_answers", answers)
    monkeypatch.setattr(check, "refusals", lambda *_: ())
    monkeypatch.setattr(check, "schema_errors", lambda rendered, _: ["spec: is wrong"] * (rendered.stack == "eu"))

    done = render()

    assert done.exit_code == 1 and done.stderr.count("FT-REV-303") == 1
    assert (project / ".render" / "staging" / "digest.json").is_file()


def test_an_unknown_stack_is_an_error_before_anything_is_written(project):
    write_stack(project, "staging")

    done = render("--stack", "staging", "--stack", "eu")

    assert done.exit_code == 2 and "FT-OPS-002" in done.stderr and not (project / ".render").exists()


def test_a_project_without_stacks_is_an_error(project):
    assert (render().exit_code, "FT-REV-120" in render().stderr) == (2, True)


def test_a_folder_that_cannot_be_written_is_an_error(project):
    write_stack(project)
    (project / "file").touch()

    done = render("--out", "file")

    assert done.exit_code == 2 and "FT-REV-205" in done.stderr
