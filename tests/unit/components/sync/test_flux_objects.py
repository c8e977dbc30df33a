"""The cluster's time, and how long ago something was."""

from datetime import UTC, datetime, timedelta

import pytest

from components.sync.flux_objects import ClusterClock, lasted

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "told"),
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
def test_a_duration_is_told_as_a_person_would(seconds, told):
    assert lasted(timedelta(seconds=seconds)) == told


def test_the_cluster_is_asked_once_for_its_time_however_late():
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
