"""The program `offline-admission` is built from the sources that a wheel has."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dev.lab.build import _Tools
from dev.lab.build_key import linker_flags as flags_of_the_lab
from dev.lab.settings import Settings
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.admission.program import build_admission, built_program, find_program, linker_flags

# Writes what it is called with where it would write the program.
GO = f"""\
#!{sys.executable}
import os, pathlib, sys
if os.environ.get("FAILS"):
    sys.exit("go: first\\ngo: module not found")
out = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
out.write_text(" ".join([os.getcwd(), os.environ["GOFLAGS"], *sys.argv[1:]]))
out.chmod(0o755)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    return {"FLUX_TENANCY_CACHE": str(tmp_path / "cache"), "PATH": str(go.parent)}


def test_it_is_built_once_and_found_from_then_on(environ: dict[str, str]) -> None:
    assert find_program(environ) is None

    program = build_admission(environ)

    assert find_program(environ) == program == built_program(environ)
    folder, flags, *arguments = program.read_text().split(" ")
    assert (Path(folder) / "main.go").is_file() and flags == "-mod=readonly"
    assert arguments[-1] == "."
    assert [each.name for each in program.parent.iterdir()] == [program.name]
    program.write_text("built")
    assert build_admission(environ).read_text() == "built"


def test_it_is_linked_as_in_the_lab() -> None:
    [tool] = _Tools(Settings.load()).select(["offline-admission"])

    assert linker_flags() == flags_of_the_lab(tool)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"PATH": ""}, "Go is not installed.*FT-REV-305"),
        ({"FAILS": "1"}, "go: module not found.*FT-REV-305"),
        ({"FLUX_TENANCY_CACHE": "/dev/null/cache"}, "Not a directory.*FT-REV-305"),
        ({"FLUX_TENANCY_CACHE": ""}, "neither HOME nor FLUX_TENANCY_CACHE is set.*FT-REV-305"),
    ],
)
def test_what_is_missing_is_an_error(changed: dict[str, str], message: str, environ: dict[str, str]) -> None:
    with pytest.raises(OperationError) as refused:
        build_admission(environ | changed)

    assert re.search(message, refused.value.report.partition("\n")[0])
