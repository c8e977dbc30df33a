"""The events of refused probes: deleted where they can be, and never in the way."""

from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration
from loopback import closed_port, serving

from flux_tenancy.components.policies.component import EVENTS_PATH, forget_refusals


def client(server: str) -> ApiClient:
    return ApiClient(Configuration(host=server))


@pytest.mark.parametrize(("deleted", "waits"), [(b'{"items": []}', 0), (b'{"items": [{}]}', 1)])
def test_only_events_about_the_probe_are_deleted_and_their_deletion_gets_time_to_be_noticed(deleted, waits):
    asked: list[Any] = []
    waited: list[float] = []

    with serving({EVENTS_PATH: deleted}, asked=asked) as server:
        forget_refusals(client(server), waited.append)

    assert asked == [f"DELETE {EVENTS_PATH}?fieldSelector=involvedObject.name%3Dflux-tenancy-probe"]
    assert len(waited) == waits


@pytest.mark.parametrize("status", [403, 404, 500])
def test_events_that_cannot_be_deleted_block_nothing(status):
    with serving({}, status) as server:
        forget_refusals(client(server))


def test_an_unreachable_cluster_is_left_to_the_next_request_to_report():
    forget_refusals(client(f"http://127.0.0.1:{closed_port()}"))
