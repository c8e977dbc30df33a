"""Formatted durations."""

from datetime import timedelta

import pytest

from flux_tenancy.components.sync.flux_objects import lasted


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
