"""Keys for SOPS, made anew for each run, and what is no such key though it looks like one."""

from __future__ import annotations

from functools import cache
from typing import Any

from pysequoia import Tsk
from pysequoia.packet import PacketPile
from sample_keys import block

from flux_tenancy.components.keys import age_keys, openpgp_keys

PRIVATE = "PGP PRIVATE KEY BLOCK"
# Source: RFC 9580, section 5.
_TAGS = {"Tag.Signature": 2, "Tag.SecretKey": 5, "Tag.SecretSubkey": 7, "Tag.UserID": 13}
_ENCRYPTED_TAGS = (5, 7)


@cache
def age_identity(which: str) -> age_keys.AgeIdentity:
    """An identity; the same for the same word."""
    return age_keys.generate()


@cache
def openpgp_key(which: str) -> openpgp_keys.OpenPgpKey:
    """A key; the same for the same word."""
    return openpgp_keys.generate(which)


def with_age(*which: str, **keys: Any) -> dict[str, Any]:
    """What the configuration says of identities of age."""
    return {"age": {"identities": "\n".join(age_identity(each).private for each in which)} | keys}


def with_passphrase() -> str:
    """A key whose secret parts are encrypted; nobody knows with which passphrase. Source: RFC 9580, section 5.5.3."""
    key = Tsk.from_bytes(openpgp_key("protected").private.encode())
    # AES-256, iterated and salted SHA-256, an initialisation vector, and what would be the key.
    encrypted = bytes([254, 9, 3, 8]) + bytes(8) + b"\x60" + bytes(16) + bytes(52)
    packets = zip(_packets(bytes(key)), _packets(bytes(key.extract_certificate())), strict=True)
    return _armored(
        [(tag, public + encrypted if tag in _ENCRYPTED_TAGS else body) for (tag, body), (_, public) in packets]
    )


def without_subkeys() -> str:
    """A key that signs and does not decrypt: of a whole one, the key itself and whose it is."""
    key = Tsk.from_bytes(openpgp_key("first").private.encode())
    return _armored(_packets(bytes(key))[:4])


def two_in_one_block() -> str:
    """What `gpg --export-secret-keys` writes of a whole key ring."""
    keys = (openpgp_key("first"), openpgp_key("second"))
    return _armored([packet for key in keys for packet in _packets(bytes(Tsk.from_bytes(key.private.encode())))])


def _packets(key: bytes) -> list[tuple[int, bytes]]:
    """Tag and body of each packet; those of a public half get the tags of its private one."""
    tags = _TAGS | {"Tag.PublicKey": 5, "Tag.PublicSubkey": 7}
    return [(tags[str(packet.tag)], bytes(packet.body)) for packet in PacketPile.from_bytes(key)]


def _armored(packets: list[tuple[int, bytes]]) -> str:
    framed = [bytes([0xC0 | tag, 255]) + len(body).to_bytes(4) + body for tag, body in packets]
    return block(PRIVATE, b"".join(framed)).replace("BLOCK-----\n", "BLOCK-----\n\n", 1)
