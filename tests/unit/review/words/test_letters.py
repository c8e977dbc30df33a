"""Letters that look like others."""

from __future__ import annotations

import pytest

from flux_tenancy.review.words.letters import with_letters_named


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("syncs rele\u0430se", "syncs rele\u0430se (with U+0430 CYRILLIC SMALL LETTER A)"),
        (
            "user \u0430\u0435\u0430, b",
            "user \u0430\u0435\u0430 (with U+0430 CYRILLIC SMALL LETTER A, U+0435 CYRILLIC SMALL LETTER IE), b",
        ),
        ("a\u200bb", "a\u200bb (with U+200B ZERO WIDTH SPACE)"),
        ("a\ue000", "a\ue000 (with U+E000 (no name))"),
        ("main and 80 characters\u2026", "main and 80 characters\u2026"),
    ],
)
def test_letters_that_are_not_ascii_are_named(text, said):
    assert with_letters_named(text) == said
