"""Quantities of Kubernetes in comparisons."""

from decimal import Decimal

import pytest

from flux_tenancy.review.changes.comparisons import is_multiplied, is_zero, quantity

ENDLESS = Decimal("Infinity")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (4, 4),
        ("500m", Decimal("0.5")),
        ("1k", 1000),
        ("1Ki", 1024),
        ("2Gi", 2 * 2**30),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1K", ENDLESS),
        ("1ki", ENDLESS),
        ("NaN", ENDLESS),
        ("many", ENDLESS),
        ("", ENDLESS),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(text, number):
    assert quantity(text) == number


def test_units_are_compared_by_what_they_mean():
    assert is_multiplied("500m", "2") and not is_multiplied("1Gi", "1024Mi")
    assert is_zero("1", "0m")
