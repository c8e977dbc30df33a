"""Each mistake of `mistakes.yaml` is one error of the command, with its file, its key and a remedy."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_release import RELEASE_FILE
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from tests.support.releases import FLUX_VERSION

PROJECT, MISTAKES = yaml.safe_load_all(Path(__file__).with_name("mistakes.yaml").read_text("utf-8"))
DIGEST = hashlib.sha256(RELEASE_FILE.read_bytes()).hexdigest()
ALL = "ALL"
"""The whole file, also of one that does not exist."""


def write(folder: Path, text: str, file: str) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("DIGEST", DIGEST).replace("VERSION", FLUX_VERSION))


@pytest.fixture
def project(tmp_path, monkeypatch):
    for file, text in PROJECT.items():
        write(tmp_path, text, file)
    (tmp_path / "install.yaml").write_bytes(RELEASE_FILE.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reviewed():
    return CliRunner().invoke(app, ["review", "policy", "--stack", "staging"])


def test_the_project_has_no_mistake(project):
    done = reviewed()

    assert (done.exit_code, done.output) == (0, "staging: no findings\n")


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["mistake"])
def test_a_mistake_is_one_error(project, row: dict[str, Any]):
    before = PROJECT.get(row["file"], "")
    assert row["from"] == ALL or before.count(row["from"]) == 1
    write(project, row["to"] if row["from"] == ALL else before.replace(row["from"], row["to"]), row["file"])

    done = reviewed()

    assert " ".join(row["says"].split()).replace("DIGEST", DIGEST) in done.output
    assert done.exit_code == (0 if row["says"].startswith("warning: ") else 2)
    assert len(re.findall(r"\(FT-", done.output)) == 1
    [named] = [line.strip() for line in done.output.splitlines() if "(FT-" in line]
    assert re.search("; | must be (true|a list|at least)| is not one of ", named), "says what to write"
    assert "Traceback" not in done.output and "hunter2" not in done.output
