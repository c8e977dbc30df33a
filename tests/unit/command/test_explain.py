"""`flux-tenancy explain` tells each message of the program by its code."""

from __future__ import annotations

import ast

import pytest
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.operations.messages import Slot, _template, read_messages


def explained(*codes: str) -> Result:
    return CliRunner().invoke(app, ["explain", *codes])


def test_a_message_is_explained_by_its_code_in_any_letters():
    known = explained("FT-TEN-021").stdout

    assert known.startswith("FT-TEN-021: namespace … is still being deleted") and "; when nothing needs" in known
    assert explained("ft-ten-021").stdout == known


def test_all_messages_are_listed_without_a_code():
    lines = explained().stdout.splitlines()

    assert [line.partition(":")[0] for line in lines] == list(read_messages())


def test_an_unknown_code_is_an_error():
    result = explained("FT-XXX-001")

    assert result.exit_code == 2
    assert "no message FT-XXX-001 (FT-OPS-220)" in result.output


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("error.text", (Slot("error.text"),)),
        ("reason", (Slot("reason"),)),
        ("f'it is {reason!r}'", ("it is ", Slot("reason", "r"))),
    ],
)
def test_a_sentence_that_another_one_gives_is_a_value(source, said):
    assert _template(ast.parse(source, mode="eval").body, {}, "Message") == said
