"""Completion in shells: groups, commands, options, stacks and tenants, by the protocol and in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
# Completes the words that follow, of which the last is not complete, as bash does when Tab is pressed.
PRESS_TAB = """
source <(_FLUX_TENANCY_COMPLETE=source_bash flux-tenancy)
complete -p flux-tenancy >&2 || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_flux_tenancy_completion flux-tenancy
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    (["dr"], ["drift"]),
    (["drift", ""], ["show", "repair"]),
    (["drift", "show", "--st"], ["--stack"]),
    (["drift", "show", "--stack", ""], ["eu", "us"]),
    (["drift", "show", "-s", "e"], ["eu"]),
    (["drift", "show", "-o", ""], ["table", "json"]),
    (["releases", "update", "-s", "eu", "-s", "u"], ["us"]),
    (["isolation", "--tenant", ""], ["blog", "shop"]),
    (["isolation", "--tenant", "*"], []),
    (["isolation", "--without", "r"], ["role"]),
    (["isolation", "--profile", ""], ["baseline", "restricted"]),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two stacks and two tenants, and a `flux-tenancy` as the installed script is."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for file in ("Pulumi.eu.yaml", "Pulumi.us.yaml", "tenants/blog.yaml", "tenants/shop.yaml", "bin/flux-tenancy"):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("{}\n")
    script = f'#!/bin/sh\nexec "{sys.executable}" -c "from flux_tenancy.command.app import main; main()" "$@"\n'
    (folder / "bin" / "flux-tenancy").write_text(script)
    (folder / "bin" / "flux-tenancy").chmod(0o755)
    return folder


def run(project: Path, *command: str, folder: Path | None = None, **variables: str) -> str:
    path = os.pathsep.join([str(project / "bin"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(CHECKOUT), "PULUMI_OPTION_CWD": ""} | variables
    done = subprocess.run(command, cwd=folder or project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def completed(project: Path, words: list[str], folder: Path | None = None) -> list[str]:
    """The answer to bash."""
    line = {"COMP_WORDS": "\n".join(["flux-tenancy", *words]), "COMP_CWORD": str(len(words))}
    return run(project, "flux-tenancy", folder=folder, _FLUX_TENANCY_COMPLETE="complete_bash", **line).split()


@pytest.mark.parametrize(("words", "expected"), CASES, ids=lambda each: " ".join(each))
def test_words_are_completed(project, words, expected):
    assert completed(project, words) == expected


def test_stacks_are_those_of_the_project_around_the_folder_or_of_cwd(project, tmp_path):
    assert completed(project, ["drift", "show", "-s", ""], project / "tenants") == ["eu", "us"]
    assert completed(project, ["drift", "show", "-s", ""], tmp_path) == []
    assert completed(project, ["-C", str(project), "drift", "show", "-s", ""], tmp_path) == ["eu", "us"]


@pytest.mark.parametrize("written", ["stacks", '"./stacks"  # of the platform team'])
def test_stacks_may_have_a_folder_of_their_own(tmp_path, project, written):
    (tmp_path / "Pulumi.yaml").write_text(f"name: platform\nstackConfigDir: {written}\nruntime: python\n")
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks/Pulumi.eu.yaml").write_text("{}\n")

    assert completed(project, ["drift", "show", "-s", ""], tmp_path) == ["eu"]


def test_a_project_that_cannot_be_read_has_no_completion(tmp_path, project):
    (tmp_path / "Pulumi.yaml").write_text("name: [\n")

    assert completed(project, ["drift", "show", "-s", ""], tmp_path) == []


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(("words", "expected"), CASES[3:5], ids=lambda each: " ".join(each))
def test_bash_completes_after_the_script_was_sourced(project, words, expected):
    assert run(project, "bash", "-c", PRESS_TAB, "bash", "flux-tenancy", *words).split() == expected


def test_zsh_has_a_script_too_and_shows_the_help_beside_each_command(project):
    script = run(project, "flux-tenancy", _FLUX_TENANCY_COMPLETE="source_zsh")
    assert "_FLUX_TENANCY_COMPLETE=complete_zsh" in script and "compdef" in script

    answer = run(
        project, "flux-tenancy", _FLUX_TENANCY_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="flux-tenancy drift "
    )
    assert '"show":"Show which fields' in answer


def test_completion_loads_no_models(project):
    """Else each press of Tab takes a second."""
    heavy = ("flux_tenancy.components.stack.config", "pulumi", "kubernetes")
    loads = (
        "import sys\nfrom flux_tenancy.command.app import main\ntry:\n    main()\nexcept SystemExit:\n"
        f"    print([each for each in {heavy} if each in sys.modules])"
    )
    answer = run(
        project,
        *(sys.executable, "-c", loads),
        _FLUX_TENANCY_COMPLETE="complete_bash",
        COMP_WORDS="flux-tenancy\ndrift\nshow\n-s\ne",
        COMP_CWORD="4",
    )

    assert answer.split("\n") == ["eu", "[]", ""]
