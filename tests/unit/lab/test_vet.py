"""go vet checks the lab's own packages with the builder's cache, and its reports are errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from builder_project import BuilderProject, make_project

from dev.lab.errors import LabError
from dev.lab.vet import vet

GO = """\
#!/bin/sh
case "$1" in
mod) echo '{"Require": null, "Replace": null, "Go": "1.26.0"}' ;;
env) echo '{"GOVERSION": "go1.26.8"}' ;;
vet) echo "$PWD $GOCACHE $*" >> "$VET_LOG"; echo "$VET_SAYS" >&2; test -z "$VET_SAYS" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuilderProject:
    """A checkout, and on PATH a Go command that records its arguments."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/go").write_text(GO)
    (tmp_path / "bin/go").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("VET_LOG", str(tmp_path / "vet.log"))
    monkeypatch.setenv("VET_SAYS", "")
    return make_project(tmp_path)


def test_a_report_of_go_vet_is_an_error(checkout: BuilderProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VET_SAYS", "beta/main.go:3:2: self-assignment of x to x")

    with pytest.raises(LabError, match=r"beta/main.go:3:2: self-assignment"):
        vet(checkout.settings)
