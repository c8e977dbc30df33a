"""Letters that look like others."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\S*[^\x00-\x7f]\S*")
# Marks of this program's own sentences.
_OWN = "…→"


def with_letters_named(text: str) -> str:
    """A sentence in which each word with letters that are not ASCII is followed by their names.

    `release` with a Cyrillic `а` becomes `releаse (with U+0430 CYRILLIC SMALL LETTER A)`. There is no list of letters
    that look alike: each one that is not ASCII is named.

    Source: https://www.unicode.org/reports/tr39/ describes the confusion; names are those of `unicodedata`.
    """
    return _WORD.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    letters = dict.fromkeys(each for each in found[0] if not each.isascii() and each not in _OWN)
    if not letters:
        return found[0]
    names = ", ".join(f"U+{ord(each):04X} {unicodedata.name(each, '(no name)')}" for each in letters)
    word = found[0].rstrip(",:;)")
    return f"{word} (with {names}){found[0][len(word) :]}"
