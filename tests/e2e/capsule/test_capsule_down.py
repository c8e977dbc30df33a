"""Capsule is taken away by the steps of its page, and comes back."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.capsule.given_tenants import ACCOUNT, MAKER, namespace
from tests.e2e.capsule.test_capsule_install import CONTROLLER, DRY_RUN, HOME, TENANT
from tests.support.environment import Environment
from tests.support.lab import eventually

PAGE = Path(__file__).parents[3] / "docs" / "capsule.md"
BINDING = "capsule-namespace-provisioner"


def steps() -> list[list[str]]:
    """The arguments of kubectl in the steps of the page."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## When Capsule is down")[2].partition("\n## ")[0]
    return [shlex.split(each, comments=True) for each in re.findall(r"^\$ kubectl (.+)$", section, re.MULTILINE)]


@pytest.mark.exhaustive
@pytest.mark.scenario
class TestWithoutCapsule:
    def test_the_steps_leave_no_tenant_that_can_make_namespaces(self, stack: Environment) -> None:
        said = [stack.cluster.kubectl(*step) for step in steps()]

        assert [each.stdout.strip() for each in said if each.returncode] == ["no"]
        assert not stack.cluster.create(namespace("plain"), DRY_RUN)
        assert "cannot create resource" in stack.cluster.create(namespace(f"{MAKER}-x"), DRY_RUN, user=ACCOUNT)
        assert stack.cluster.find("clusterrolebinding", BINDING) is None

    def test_capsule_brings_everything_back(self, stack: Environment) -> None:
        stack.cluster.kubectl("scale", "deployment", CONTROLLER, "-n", HOME, "--replicas=2")

        foreign = namespace("foreign", labels={TENANT: "unknown"})
        eventually(lambda: 'projectcapsule.dev" denied' in stack.cluster.create(foreign, DRY_RUN), 180, "the webhooks")
        eventually(lambda: stack.cluster.find("clusterrolebinding", BINDING) is not None, what="the binding")
        assert not stack.changes()
