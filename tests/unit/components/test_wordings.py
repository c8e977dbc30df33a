"""The words of all messages, in one golden file: whoever changes them sees what a user will read."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from components.config.wordings import WORDINGS, Message, Wording, all_wordings, code_of, joined, message_of

PROJECT = Path(__file__).parents[3]
GOLDEN = PROJECT / "tests" / "unit" / "golden" / "messages.txt"


def listing() -> str:
    """Each code with its text and, below an arrow, its remedy."""
    lines = []
    for wording in all_wordings().values():
        lines += [wording.code, f"    {wording.text}", *([f"    -> {wording.remedy}"] if wording.remedy else []), ""]
    return "\n".join(lines)


def test_messages_are_worded_as_in_the_golden_file():
    """After a change of words: `python tests/unit/components/test_wordings.py`, and read the difference."""
    assert listing() == GOLDEN.read_text(encoding="utf-8")


def test_every_wording_is_in_a_module_that_is_listed():
    folders = ("components", "isolation", "operations", "review")
    sources = [file for folder in folders for file in (PROJECT / folder).rglob("*.py")]
    defining = [file for file in sources if re.search(r"\bWording\(\s*\"FT-", file.read_text(encoding="utf-8"))]

    assert [file for file in defining if not file.name.endswith("wordings.py")] == []


@pytest.mark.parametrize("code", all_wordings())
def test_a_code_has_an_area_and_a_number(code):
    assert re.fullmatch(r"FT-[A-Z]{3}-[0-9]{3}", code)


@pytest.mark.parametrize("wording", all_wordings().values(), ids=lambda wording: wording.code)
def test_a_wording_has_named_fields_and_no_period_at_its_end(wording):
    template = wording.text + wording.remedy
    fields = [name for _, name, _, _ in Formatter().parse(template) if name is not None]

    assert all(name.isidentifier() for name in fields)
    assert wording.text and not wording.text.endswith(".") and not wording.remedy.endswith(".")


def test_a_message_is_its_text_and_remedy_with_a_code_and_fields(monkeypatch):
    monkeypatch.setattr("components.config.wordings.WORDINGS", {})
    wording = Wording("FT-CFG-999", "is {size} long", "shorten it to {most}")

    message = wording(size=5, most=3)

    assert message == "is 5 long; shorten it to 3"
    assert (message.code, message.fields) == ("FT-CFG-999", {"size": 5, "most": 3})
    assert message.of("abcde") == "'abcde' is 5 long; shorten it to 3"
    assert (message.of("abcde").code, message.of("abcde").fields["value"]) == ("FT-CFG-999", "abcde")


def test_a_code_is_given_once(monkeypatch):
    monkeypatch.setattr("components.config.wordings.WORDINGS", {})
    Wording("FT-CFG-999", "is wrong")

    with pytest.raises(AssertionError, match="FT-CFG-999"):
        Wording("FT-CFG-999", "is wrong, too")


def test_an_error_keeps_the_code_of_its_message():
    message = Message("is wrong", "FT-CFG-999", {"size": 5})

    assert message_of(ValueError(message)).fields == {"size": 5}
    assert code_of(ValueError(message)) == code_of(message) == "FT-CFG-999"
    assert code_of(ValueError("of others")) == code_of(ValueError()) == code_of("of others") == ""


def test_several_messages_have_the_code_of_the_first():
    messages = [Message("is wrong", "FT-CFG-998"), Message("is late", "FT-CFG-999")]

    assert joined(messages) == "is wrong; is late"
    assert joined(messages).code == "FT-CFG-998"


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(listing(), encoding="utf-8")
    print(f"{len(WORDINGS)} wordings")
