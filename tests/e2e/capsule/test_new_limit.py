"""An update brings a limit while a namespace is there that a tenant has made."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.capsule.given_tenants import OTHER, admitted, namespace
from tests.e2e.capsule.test_capsule_install import DRY_RUN
from tests.support.environment import Environment
from tests.support.lab import eventually

MADE = f"{OTHER}-limited"
USED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "used", "namespace": MADE}}


@pytest.fixture
def made(stack: Environment) -> Iterator[Environment]:
    """The stack with such a namespace, and without the limit afterwards."""
    assert not stack.cluster.create(namespace(MADE), user=f"system:serviceaccount:{OTHER}:{OTHER}")
    admitted(stack, USED, DRY_RUN)
    yield stack
    stack.cluster.kubectl("delete", "namespace", MADE)
    stack.config["tenancy"].pop("limits", None)
    stack.up()


@contextmanager
def used(stack: Environment) -> Iterator[list[str]]:
    """Uses the namespace all the time; gives what each attempt is answered."""
    answers: list[str] = []
    done = threading.Event()

    def use() -> None:
        while not done.wait(0.1):
            answers.append(stack.cluster.create(USED, DRY_RUN))

    user = threading.Thread(target=use)
    user.start()
    try:
        yield answers
    finally:
        done.set()
        user.join()


@pytest.mark.exhaustive
def test_the_namespace_can_be_used_until_it_has_the_limit_and_then(made: Environment) -> None:
    stack = made
    stack.config["tenancy"]["limits"] = {"quota": {"configmaps": "400"}}

    with used(stack) as answers:
        stack.up()
        eventually(lambda: stack.cluster.find("validatingadmissionpolicybinding", "flux-tenancy-limits-first-quota"))

    assert len(answers) > 10
    assert not [each for each in answers if "limits-first-quota" in each]
    limits = stack.cluster.get("resourcequota", namespace=MADE)["items"]
    assert f"{OTHER}-made-quota" in {each["metadata"]["name"] for each in limits}
