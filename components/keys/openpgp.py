"""OpenPGP public keys, against which Flux verifies commits and tags.

Source: RFC 9580, sections 4.2 (packet headers), 5 (packet types) and 6 (armor).
"""

from __future__ import annotations

import base64
import binascii

from components.keys import armor

_PUBLIC_LABEL = "PGP PUBLIC KEY BLOCK"
_PUBLIC_KEY_PACKET = 6
_IS_PACKET, _NEW_FORMAT = 0x80, 0x40


class OpenPgpError(ValueError):
    """A text that is not a public key. The message ends a sentence and repeats nothing of the text."""


def read_public_key(text: str) -> str:
    """One armored public key block, with the line ends of Unix.

    Raises:
        OpenPgpError: for anything else, above all a private key.
    """
    normalised = armor.normalised(text)
    labels = armor.labels(normalised)
    if any(map(armor.is_private, labels)):
        raise OpenPgpError(
            "holds a private key, which has been readable here and is to be revoked; "
            "give what `gpg --export --armor <key>` writes"
        )
    if labels != [_PUBLIC_LABEL]:
        raise OpenPgpError("is not one OpenPGP public key block; give what `gpg --export --armor <key>` writes")
    if not armor.is_single_block(normalised, _PUBLIC_LABEL) or not _begins_with_public_key(normalised):
        raise OpenPgpError("is no whole OpenPGP public key: something of it is missing, changed, or stands around it")
    return normalised


def _begins_with_public_key(block: str) -> bool:
    """Whether the block can be decoded and its first packet is a primary public key."""
    # Headers such as `Comment: …` end at the first empty line; a checksum, which is optional, stands on a last line.
    _, _, body = block.partition("\n\n")
    lines = [line.strip() for line in body.splitlines() if not line.startswith(("-----", "="))]
    try:
        packets = base64.b64decode("".join(lines), validate=True)
    except binascii.Error:
        return False
    if not packets or not packets[0] & _IS_PACKET:
        return False
    tag = packets[0] & 0x3F if packets[0] & _NEW_FORMAT else (packets[0] & 0x3C) >> 2
    return tag == _PUBLIC_KEY_PACKET
