"""The YAML of a render."""

from __future__ import annotations

import pytest

from flux_tenancy.review.render.files import as_yaml


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("0123456789", "'0123456789'"),
        (123456789, "123456789"),
        ("y", "'y'"),
        (True, "true"),
        ("main", "main"),
        ("a\nb\n", "|\n  a\n  b"),
    ],
)
def test_a_string_looks_like_one_and_lines_are_kept(value: object, written: str) -> None:
    assert as_yaml({"value": value}) == f"value: {written}\n"
