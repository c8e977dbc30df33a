"""Where Flux's controllers listen, seen on an address that is not a loopback address."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.listeners import answers, own_address, started

LISTENERS = {
    "source-controller": {"metrics-addr", "health-addr", "storage-addr"},
    "kustomize-controller": {"metrics-addr", "health-addr"},
    "helm-controller": {"metrics-addr", "health-addr"},
    "notification-controller": {"metrics-addr", "health-addr", "events-addr", "receiverAddr"},
}


@pytest.mark.parametrize("controller", LISTENERS)
def test_the_ports_of_a_controller_answer_at_the_pods_address_and_not_on_loopback(
    lab: Lab, production_stack: Environment, controller: str, tmp_path: Path
) -> None:
    address = own_address()
    deployment = production_stack.cluster.get("deployment", controller, "flux-system")

    with started(lab, production_stack, deployment, address, tmp_path) as ports:
        assert set(ports) == LISTENERS[controller]
        for flag, port in ports.items():
            eventually(partial(answers, address, port), what=f"--{flag}")
            assert not answers("127.0.0.1", port), flag
            assert not answers("::1", port), flag
