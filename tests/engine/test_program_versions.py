"""Upgrading this program and going back changes no object, and the state says which program applied it."""

from __future__ import annotations

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.version import VERSION
from tests.support.earlier_program import EarlierProgram
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.project import Project

NAME = "versions"


def test_a_stack_goes_forwards_and_back(lab: Lab, project: Project, earlier_program: EarlierProgram) -> None:
    with lab.cluster(NAME) as cluster:
        stack = Environment(lab, project, cluster, flux=lab.bundle())

        assert earlier_program.bring_up(stack).changes == {}
        stack.up()
        with earlier_program.running(stack):
            assert stack.changes() == {}

    assert stack.outputs()["program"] == VERSION
    # By this, an older program refuses to change it.
    [recorded] = [each for each in project.state(NAME) if each["type"] == CLUSTER_TYPE]
    assert recorded["outputs"]["program"] == VERSION
