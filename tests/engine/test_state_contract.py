"""What the program relies on to read the stack's state: a function of the engine that no SDK calls."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import Lab
from tests.support.project import CHECKOUT, ENVIRONMENT

NAME = "contract"
PROJECT = "name: contract\nruntime: {name: python, options: {toolchain: pip, virtualenv: .venv}}\n"
PROGRAM = """
import json
from pathlib import Path

import pulumi

from flux_tenancy.components.engine.state import read_state


async def main():
    state = await read_state()
    found = {f"{kind} {name}": outputs for (kind, name), outputs in state.resources.items()}
    Path("found.json").write_text(json.dumps(found, default=dict))
    team = pulumi.ComponentResource("test:index:Team", "team")
    team.register_outputs({"uid": "1111"})
    if pulumi.Config().get_bool("token"):
        opts = pulumi.ResourceOptions(parent=team)
        token = pulumi.Stash("apps/token", input=pulumi.Output.secret("t0ken"), opts=opts)
        await token.output.future()
    if pulumi.Config().get_bool("fails"):
        raise pulumi.RunError("refused late")


pulumi.run(main)
"""
TEAM, TOKEN = "test:index:Team team", "pulumi:index:Stash apps/token"


class Program:
    """A program that writes down what it finds in the state before it registers anything."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab, self._folder = lab, folder
        (folder / "flux_tenancy").symlink_to(CHECKOUT / "flux_tenancy")
        (folder / ".venv").symlink_to(ENVIRONMENT)
        (folder / "Pulumi.yaml").write_text(PROJECT)
        (folder / "__main__.py").write_text(PROGRAM)
        lab.pulumi.select(NAME, folder)

    def found(self, command: str, succeeds: bool = True, **config: bool) -> dict[str, Any]:
        """What the program read from the state, without the stack and the engine's own provider."""
        settings = [f"--config={key}={str(value).lower()}" for key, value in config.items()]
        options = [] if command == "preview" else ["--yes", "--skip-preview"]
        done = self._lab.pulumi.run(
            [command, *options, *settings, "--stack", NAME],
            self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert (done.returncode == 0) is succeeds, done.stdout
        found = json.loads((self._folder / "found.json").read_text())
        return {
            key: value for key, value in found.items() if not key.startswith(("pulumi:pulumi:", "pulumi:providers:"))
        }


@pytest.fixture(scope="module")
def program(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(lab, tmp_path_factory.mktemp("contract"))


def test_the_state_is_that_of_the_previous_update_whether_or_not_it_succeeded(program: Program) -> None:
    assert program.found("up", succeeds=False, token=True, fails=True) == {}

    after_failure = program.found("preview", token=True, fails=False)
    assert after_failure.keys() == {TEAM, TOKEN}
    assert after_failure[TEAM] == {"uid": "1111"}
    assert after_failure[TOKEN]["output"] == "t0ken"

    assert program.found("up", token=False, fails=False).keys() == {TEAM, TOKEN}
    assert program.found("preview", token=False, fails=False).keys() == {TEAM}
