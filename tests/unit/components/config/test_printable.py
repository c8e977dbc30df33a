"""Nothing that a tenant or a server writes steers a terminal, wherever it is shown."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from sample_text import ESCAPES, SHOWN

from flux_tenancy.components.config.errors import ConfigurationError, Problem, coded
from flux_tenancy.components.config.messages import Message, printable


def test_an_escape_sequence_a_line_of_its_own_and_an_override_of_direction_are_taken_away():
    assert printable(ESCAPES) == SHOWN


@pytest.mark.parametrize("text", ["", "dev-team", "Kündigung für 東京 ✓ 🚀", "a [b] 'c' \"d\" \\n"])
def test_what_a_reader_can_read_stays(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:p@ss!@proxy:3128/a", "http://me:(not shown)@proxy:3128/a"),
        ("https://ghp_token@git.example.com", "https://(not shown)@git.example.com"),
        ('["ssh://git:x@git.example.com/a", "ann@example.com"]', None),
        ("ssh://git@git.example.com/a", "ssh://git@git.example.com/a"),
        ("http://proxy:3128 for ann@example.com", "http://proxy:3128 for ann@example.com"),
    ],
)
def test_credentials_in_urls_are_not_shown(url, shown):
    shown = shown or '["ssh://git:(not shown)@git.example.com/a", "ann@example.com"]'
    assert printable(url) == shown
    assert coded(ValueError(url)) == shown


def test_no_character_of_unicode_gets_through_that_is_not_shown():
    kinds = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    hidden = [letter for code in range(sys.maxunicode + 1) if unicodedata.category(letter := chr(code)) in kinds]

    assert len(hidden) > 100_000
    assert {printable(f"a{letter}b") for letter in hidden} == {"a b"}


def test_a_message_keeps_its_lines_and_nothing_else_that_steers_a_terminal():
    message = Message("FT-TEN-001", "sync app: \x1b]0;title\x07 failed:\n  one\r\u202e")

    assert coded(message) == "sync app:  ]0;title  failed (FT-TEN-001):\n  one  "
    assert "\x1b" not in str(ConfigurationError([Problem("file", "path", message)]))
    assert coded(ValueError("a\x1b[1mb")) == "a [1mb"
