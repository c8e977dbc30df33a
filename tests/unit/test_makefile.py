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
TARGETS = sorted(set(re.findall(r"^([a-z-]+):.* ## ", TEXT, re.MULTILINE)) - {"lock", "lint", "lint-fast"})
OWN = {
    "SHELL",
    "PYTHON",
    "VENV",
    "RUN",
    "CURDIR",
    "MAKEFILE_LIST",
    "INPUTS",
    "GIVEN",
    "ADMISSION",
    "SIDE_BY_SIDE",
    "IN_STACK",
}
"""Variables of make and of the Makefile itself; PYTHON names a command."""
READ = re.findall(r"\$\(([A-Z_]+)[),]|\$\(call \w+,[^,()]*,([A-Z_]+)\)|arg_([A-Z_]+)", TEXT)
INPUTS = sorted(
    {name for names in READ for name in names if name} - OWN - {"STACK_GIVEN", "BASE_GIVEN", "APPROVED_GIVEN"}
)

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
    python = programs / "python"
    python.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\" '<end>' >> called\n")
    python.chmod(0o755)
    for name in ("ruff", "mypy", "lint-imports", "check-jsonschema", "zizmor", "gofmt"):
        (programs / name).symlink_to("/bin/true")
    for name in ("requirements.txt", "requirements-dev.txt", ".venv/installed"):
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


def test_every_variable_that_a_recipe_reads_is_an_input():
    [listed] = re.findall(r"^INPUTS := ((?:.*\\\n)*.*)", TEXT, re.MULTILINE)

    assert sorted(listed.replace("\\", "").split()) == INPUTS and len(TARGETS) > 30


@pytest.mark.parametrize("target", TARGETS)
def test_no_value_is_run(checkout, target):
    for value in HOSTILE:
        make(checkout, target, dict.fromkeys(INPUTS, value))
        make(checkout, target, {}, dict.fromkeys(INPUTS, value))

        assert not (checkout / "ran").exists(), value


@pytest.mark.parametrize("value", [value for value in HOSTILE if "\n" not in value])
@pytest.mark.parametrize("comes", ["given", "environ"])
def test_a_value_is_one_argument_as_it_was_written(checkout, value, comes):
    settings = {"STACK": value, "OUT": value}
    calls = make(
        checkout, "render", **({"given": settings} if comes == "given" else {"given": {}, "environ": settings})
    )

    assert calls[-1] == ["-m", "review.commands.render", "--stack", value, "--out", value]


@pytest.mark.parametrize(
    ("target", "given", "arguments"),
    [
        ("render", {}, "review.commands.render --stack staging --out .render"),
        ("render", {"STACK": "eu-1", "OUT": "out/a"}, "review.commands.render --stack eu-1 --out out/a"),
        ("down", {}, "lab down"),
        ("down", {"STACK": "staging"}, "lab down staging"),
        ("env", {}, "lab env"),
        ("env", {"STACK": "production"}, "lab env production"),
        ("up", {}, "lab up staging"),
        ("logs", {}, "lab logs"),
        ("logs", {"NAME": "etcd"}, "lab logs etcd"),
        ("policy", {}, "review.commands.policy"),
        ("policy", {"BASE": "HEAD^1", "OUTPUT": "json"}, "review.commands.policy --base HEAD^1 --output json"),
        ("diff", {"STACK": "eu"}, "review.commands.diff --base main --stack eu"),
        ("stacks", {"STACKS": '["eu"]'}, 'review.commands.stacks --stacks ["eu"]'),
        (
            "tenants",
            {"STACK": "staging,production"},
            "lab exec staging -- .venv/bin/python -m operations.tenants --output table "
            "--stack staging --stack production",
        ),
        (
            "isolation",
            {"TENANT": "dev-team", "WITHOUT": "role admission"},
            "lab exec staging -- .venv/bin/python -m isolation --stack staging --output table --tenant dev-team "
            "--without role --without admission",
        ),
    ],
)
def test_commands_get_what_was_set(checkout, target, given, arguments):
    assert make(checkout, target, given)[-1] == ["-m", *arguments.split()]


def test_an_empty_stack_is_an_argument_and_not_its_default(checkout):
    assert make(checkout, "down", {"STACK": ""})[-1] == ["-m", "lab", "down", ""]


def test_quotes_keep_words_of_options_for_pytest_together(checkout):
    assert make(checkout, "test-unit", {"PYTEST": "-n 0 -k 'a or b'"})[-1][-4:] == ["-n", "0", "-k", "a or b"]


def test_what_is_approved_is_a_digest_or_an_absolute_path(checkout):
    for value, exported in {"sha256:0": "sha256:0", "a/digest.json": str(checkout / "a/digest.json")}.items():
        done = subprocess.run(
            ["make", "-s", "-f", "-", f"APPROVED={value}", "shown"],
            input="include Makefile\nshown: ; @printenv FLUX_TENANCY_APPROVED\n",
            cwd=checkout,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == exported
