"""Quantities are read as an API server reads them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from flux_tenancy.components.vocabulary.manifests import parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"),
        ("1", "1"),
        (5, "5"),
        ("500m", "0.5"),
        ("1.5Gi", "1610612736"),
        ("1Ki", "1024"),
        ("1k", "1000"),
        ("2E", "2e18"),
        ("1e3", "1000"),
        ("1E-2", "0.01"),
        ("-1", "-1"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("100n", "1e-7"),
    ],
)
def test_a_quantity_is_a_number(text, number):
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", "K", "1K", "1ki", "1kk", "1 Gi", "1GiB", "0x1", "inf", "nan", "1e", "1e3Ki", "one", None]
)
def test_what_an_api_server_refuses_is_refused(text):
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)
