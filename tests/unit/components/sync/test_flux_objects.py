"""The cluster's time, and formatted durations."""

from datetime import UTC, datetime, timedelta

import pytest

from flux_tenancy.components.sync.flux_objects import ClusterClock, lasted

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 seconds"),
        (1, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (200000, "2 days"),
    ],
)
def test_a_duration_is_formatted_for_people(seconds, text):
    assert lasted(timedelta(seconds=seconds)) == text


def test_the_clusters_time_is_read_once_and_on_demand():
    elapsed = [100.0]
    reads = []

    def read():
        reads.append(elapsed[0])
        return NOON

    clock = ClusterClock(read, lambda: elapsed[0])
    elapsed[0] += 10
    assert clock.started == NOON - timedelta(seconds=10)
    elapsed[0] += 5

    assert clock.now == NOON + timedelta(seconds=5)
    assert reads == [110.0]
