"""The events of refused probes: deleted where they can be, and never in the way."""

from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration
from loopback import closed_port, serving

from components.policies.probe_events import forget_refusals


def client(server: str) -> ApiClient:
    return ApiClient(Configuration(host=server))


def test_the_events_about_the_probe_are_deleted_and_no_others():
    asked: list[Any] = []

    with serving({}, asked=asked) as server:
        forget_refusals(client(server))

    assert asked == ["DELETE /api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dflux-tenancy-probe"]


@pytest.mark.parametrize("status", [403, 404, 500])
def test_events_that_stay_hold_nothing_up(status):
    with serving({}, status) as server:
        forget_refusals(client(server))


def test_a_cluster_that_cannot_be_reached_is_told_by_what_asks_it_next():
    forget_refusals(client(f"http://127.0.0.1:{closed_port()}"))
