"""Upgrading this program and going back: no object changes, and an older program refuses a newer state."""

from __future__ import annotations

import json
from pathlib import Path

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.version import VERSION
from tests.support.earlier_program import EarlierProgram
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.project import Project

NAME = "versions"
NEWER = "99.0.0"


def test_a_stack_goes_forwards_and_back_and_no_older_program_changes_a_newer_state(
    lab: Lab, project: Project, earlier_program: EarlierProgram, tmp_path: Path
) -> None:
    with lab.cluster(NAME) as cluster:
        stack = Environment(lab, project, cluster, flux=lab.bundle())

        assert earlier_program.bring_up(stack).changes == {}
        stack.up()
        assert stack.outputs()["program"] == VERSION

        with earlier_program.running(stack):
            assert stack.changes() == {}

        file = tmp_path / "state.json"
        project.run("stack", "export", "--stack", NAME, "--file", str(file))
        state = json.loads(file.read_text())
        [recorded] = [each for each in state["deployment"]["resources"] if each["type"] == CLUSTER_TYPE]
        assert recorded["outputs"]["program"] == VERSION
        recorded["outputs"]["program"] = NEWER
        file.write_text(json.dumps(state))
        project.run("stack", "import", "--stack", NAME, "--file", str(file))

        refused = project.up(NAME)

    assert not refused.succeeded
    assert "FT-CFG-850" in refused.text and NEWER in refused.text and VERSION in refused.text
