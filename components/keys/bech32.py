"""Bech32 without its length limit, as age encodes its keys.

Source: https://github.com/bitcoin/bips/blob/master/bip-0173.mediawiki and https://age-encryption.org/v1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_CHARACTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LENGTH = 6


def encode(prefix: str, data: bytes) -> str:
    """A prefix, the separator `1` and the data, in lowercase."""
    words = list(_regrouped(data, 8, 5))
    residue = _residue([*_expanded(prefix), *words, *[0] * _CHECKSUM_LENGTH]) ^ 1
    checksum = [residue >> 5 * (_CHECKSUM_LENGTH - 1 - index) & 31 for index in range(_CHECKSUM_LENGTH)]
    return f"{prefix}1{''.join(_CHARACTERS[word] for word in [*words, *checksum])}"


def decode(text: str) -> tuple[str, bytes]:
    """The prefix, in lowercase, and the data.

    Raises:
        ValueError: the text is not Bech32, or it is incomplete or damaged. The caller says which key it is.
    """
    prefix, separator, rest = text.lower().rpartition("1")
    if text not in (text.lower(), text.upper()) or not separator or not set(rest) <= set(_CHARACTERS):
        raise ValueError
    words = [_CHARACTERS.index(character) for character in rest]
    if _residue([*_expanded(prefix), *words]) != 1:
        raise ValueError
    return prefix, bytes(_regrouped(words[:-_CHECKSUM_LENGTH], 5, 8))


def _expanded(prefix: str) -> list[int]:
    codes = prefix.encode()
    return [*(code >> 5 for code in codes), 0, *(code & 31 for code in codes)]


def _residue(words: Iterable[int]) -> int:
    residue = 1
    for word in words:
        top = residue >> 25
        residue = (residue & 0x1FFFFFF) << 5 ^ word
        for bit, factor in enumerate(_GENERATOR):
            residue ^= factor if top >> bit & 1 else 0
    return residue


def _regrouped(words: Iterable[int], width: int, new_width: int) -> Iterator[int]:
    """The same bits in words of another width; the last word is padded when encoding and dropped when decoding."""
    bits = length = 0
    for word in words:
        bits, length = bits << width | word, length + width
        while length >= new_width:
            length -= new_width
            yield bits >> length & (1 << new_width) - 1
    if length and new_width < width:
        yield bits << new_width - length & (1 << new_width) - 1
