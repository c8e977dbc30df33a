"""The messages of the product: each has a code of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flux_tenancy.components.config.messages import Message, Wording, code_of, joined, message_of
from tests.support import messages
from tests.support.messages import read_messages

PROJECT = Path(__file__).parents[3]


@pytest.mark.parametrize("message", read_messages().values(), ids=lambda message: message.code)
def test_a_message_has_a_code_and_no_period_at_its_end(message):
    assert re.fullmatch(r"FT-[A-Z]{3}-[0-9]{3}", message.code)
    assert message.problem and not message.problem.endswith(".") and not message.advice.endswith(".")


def test_every_code_in_a_source_file_is_read():
    """What is not read cannot be explained: a message in another form, or two with one code."""
    sources = [file.read_text(encoding="utf-8") for file in (PROJECT / "flux_tenancy").rglob("*.py")]
    written = [
        code
        for source in sources
        for code in re.findall(r'\b(?:Message|Wording)\(\s*f?"(FT-(?:[A-Z]+|\{product\.area\})-[0-9]+)"', source)
    ]
    of_products = {code.replace("{product.area}", area) for code in written for area in ("CAP", "KYV")}

    assert of_products == read_messages().keys()
    assert len([code for code in written if "{" in code]) == 5


def test_two_messages_must_not_have_the_same_code(monkeypatch):
    twice = messages.MessageText("FT-CFG-999", ("is wrong",))
    monkeypatch.setattr(messages, "_in_source_files", lambda: iter([twice, twice]))

    with pytest.raises(ValueError, match="FT-CFG-999"):
        read_messages.__wrapped__()


def test_a_message_is_its_text_and_remedy_with_a_code():
    message = Wording("FT-CFG-999", "is {size} long", "shorten it to {most}")(size=5, most=3)

    assert message == Message("FT-CFG-999", "is 5 long", "shorten it to 3") == "is 5 long; shorten it to 3"
    assert (message.code, message.text, message.remedy) == ("FT-CFG-999", "is 5 long", "shorten it to 3")
    assert message.of("abcde") == "'abcde' is 5 long; shorten it to 3"
    assert (message.of("abcde").code, message.of("abcde").remedy) == ("FT-CFG-999", "shorten it to 3")


def test_an_error_keeps_the_code_of_its_message():
    message = Message("FT-CFG-999", "is wrong", "correct it")

    assert message_of(ValueError(message)).remedy == "correct it"
    assert code_of(ValueError(message)) == code_of(message) == "FT-CFG-999"
    assert code_of(ValueError("of others")) == code_of(ValueError()) == code_of("of others") == ""


def test_several_messages_have_the_code_of_the_first():
    several = [Message("FT-CFG-998", "is wrong"), Message("FT-CFG-999", "is late", "hurry")]

    assert joined(several) == "is wrong; is late; hurry"
    assert joined(several).code == "FT-CFG-998"
