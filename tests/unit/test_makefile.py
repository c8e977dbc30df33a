"""What a caller sets for make is data: it reaches commands whole, and neither make nor a shell runs a part of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
TEXT = MAKEFILE.read_text(encoding="utf-8")
TARGETS = sorted(re.findall(r"^([a-z-]+):.* ## ", TEXT, re.MULTILINE))
INPUTS = ["STACK", "NAME", "PYTEST", "CONTEST"]
CI = ["BRANCH", "NAME", "NAMESPACE", "TENANT", "STACK", "STACKS", "REPO", "OUTPUT", "CONTEST", "PYTEST"]
"""Variables that CI systems and shells export."""

HOSTILE = [
    "$(shell touch ran)",
    "$(touch ran) `touch ran`; touch ran & touch ran | touch ran > ran",
    "\ntouch ran\n",
    "' ; touch ran; '",
    '" ; touch ran; $(touch ran) "',
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Makefile, with a Python and other programs that only write down their arguments."""
    shutil.copy(MAKEFILE, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "flux_tenancy").mkdir()
    python = programs / "python"
    python.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\" '<end>' >> called\n")
    python.chmod(0o755)
    for name in ("ruff", "mypy", "lint-imports", "check-jsonschema", "zizmor", "gofmt"):
        (programs / name).symlink_to("/bin/true")
    for name in (
        "requirements.in",
        "requirements.txt",
        "requirements-lab.txt",
        "requirements-dev.txt",
        "flux_tenancy/version.py",
        "pyproject.toml",
        # Each is as old as what it depends on, or newer.
        ".venv/installed",
        ".venv/bin/flux-tenancy",
        ".venv/installed-dev",
    ):
        (tmp_path / name).touch()
    return tmp_path


def make(
    checkout: Path, target: str, given: Mapping[str, str], environ: Mapping[str, str] | None = None
) -> list[list[str]]:
    """Run a target; returns the arguments of each call of Python."""
    base = {"PATH": f"{checkout / '.venv/bin'}:{os.environ['PATH']}"}
    settings = [f"{name}={value}" for name, value in given.items()]
    subprocess.run(["make", target, *settings], cwd=checkout, env=base | dict(environ or {}), capture_output=True)
    called = checkout / "called"
    calls = called.read_text().split("\0<end>\0")[:-1] if called.exists() else []
    return [call.split("\0") for call in calls]


def test_the_makefile_has_few_targets_and_few_variables():
    assert len(TARGETS) <= 16
    [listed] = re.findall(r"^INPUTS := (.*)", TEXT, re.MULTILINE)
    assert listed.split() == INPUTS
    assert set(re.findall(r"\$\(call (?:argument|given),([A-Z]+)", TEXT)) == set(INPUTS)


@pytest.mark.parametrize("target", sorted({*TARGETS} - {"lint"}))
def test_no_value_is_run(checkout, target):
    for value in HOSTILE:
        make(checkout, target, dict.fromkeys(INPUTS, value))
        make(checkout, target, {}, dict.fromkeys(INPUTS, value))

        assert not (checkout / "ran").exists(), value


@pytest.mark.parametrize("value", [value for value in HOSTILE if "\n" not in value])
def test_a_value_is_one_argument_as_it_was_written(checkout, value):
    assert make(checkout, "up", {"STACK": value})[-1] == ["-m", "dev.lab", "up", value]


@pytest.mark.parametrize("target", sorted({*TARGETS} - {"lint"}))
def test_the_callers_environment_changes_nothing(checkout, target):
    plain = make(checkout, target, {})
    (checkout / "called").unlink(missing_ok=True)

    assert make(checkout, target, {}, dict.fromkeys(CI, "other")) == plain


@pytest.mark.parametrize(
    ("target", "given", "arguments"),
    [
        ("down", {}, "dev.lab down"),
        ("down", {"STACK": "staging"}, "dev.lab down staging"),
        ("down", {"STACK": ""}, "dev.lab down "),
        ("env", {}, "dev.lab env"),
        ("env", {"STACK": "production"}, "dev.lab env production"),
        ("up", {}, "dev.lab up staging"),
        ("start", {"STACK": "eu-1"}, "dev.lab start eu-1"),
        ("logs", {}, "dev.lab logs"),
        ("logs", {"NAME": "etcd"}, "dev.lab logs etcd"),
        ("bench", {"CONTEST": "kubectl"}, "dev.bench kubectl"),
    ],
)
def test_commands_get_what_was_set(checkout, target, given, arguments):
    assert make(checkout, target, given)[-1] == ["-m", *arguments.split(" ")]


def test_quotes_keep_words_of_options_for_pytest_together(checkout):
    assert make(checkout, "test-unit", {"PYTEST": "-n 0 -k 'a or b'"})[-1][-4:] == ["-n", "0", "-k", "a or b"]
