"""OpenPGP private keys: which are accepted, and why others are refused."""

import pytest
from pysequoia import Cert, Tsk
from sample_sops_keys import PRIVATE, openpgp_key, two_in_one_block, with_passphrase, without_subkeys

from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.openpgp_keys import (
    generate,
    key_ring,
    read_fingerprint,
    read_private_keys,
)
from tests.support.messages import said


def refused(read, text) -> Message:
    with pytest.raises(InvalidKeyError) as error:
        read(text)
    return message_of(error.value)


def cut(text: str) -> str:
    """A key without its last lines: one without lines in its middle may be a whole one with a bad signature."""
    lines = text.splitlines()
    return "\n".join([*lines[:-3], lines[-1]])


def test_a_new_key_can_be_read_encrypts_and_does_not_expire():
    key = generate("flux-tenancy staging/dev-team")
    certificate = Cert.from_bytes(key.public.encode())

    assert read_private_keys(key.private) == (key,)
    assert certificate.expiration is None
    assert [str(each) for each in certificate.user_ids] == ["flux-tenancy staging/dev-team"]
    assert Tsk.from_bytes(key.private.encode()).decryptor() is not None
    assert PRIVATE in key.private and PRIVATE not in repr(key)  # The text itself would be in it with its lines escaped.


def test_the_public_half_contains_nothing_private_and_the_fingerprint_is_spelled_as_sops_does():
    key = openpgp_key("first")

    assert PRIVATE not in key.public
    assert key.fingerprint == Cert.from_bytes(key.public.encode()).fingerprint.upper()


def test_several_keys_keep_their_order_with_any_line_endings():
    first, second = openpgp_key("first"), openpgp_key("second")

    read = read_private_keys(f"\n{first.private}\n\n{second.private}".replace("\n", "\r\n"))

    assert read == (first, second)
    assert key_ring(read) == first.private + second.private


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (lambda: openpgp_key("first").public, "FT-CFG-135"),
        (with_passphrase, "FT-CFG-139"),
        (without_subkeys, "FT-CFG-728"),
        (two_in_one_block, "FT-CFG-135"),
        (lambda: openpgp_key("first").private + openpgp_key("first").private, "FT-CFG-403"),
        (lambda: cut(openpgp_key("first").private), "FT-CFG-135"),
        (lambda: openpgp_key("first").private.rpartition("-----END")[0], "FT-CFG-135"),
        (lambda: "sops.asc: " + openpgp_key("first").private, "FT-CFG-135"),
        (lambda: openpgp_key("first").private + "more", "FT-CFG-135"),
        (lambda: "-----BEGIN OPENSSH PRIVATE KEY-----\n", "FT-CFG-135"),
        (lambda: "pa55word", "FT-CFG-135"),
        (lambda: "", "FT-CFG-135"),
    ],
)
def test_an_unusable_key_is_refused_and_not_repeated(text, code):
    answer = refused(read_private_keys, text())

    assert answer.code == code
    assert "Stack backtrace" not in answer
    assert not [line for line in text().splitlines()[2:-1] if len(line) > 20 and line in answer]


def test_a_fingerprint_is_accepted_in_any_spelling():
    fingerprint = openpgp_key("first").fingerprint
    grouped = " ".join(fingerprint[start : start + 4] for start in range(0, 40, 4)).lower()

    assert read_fingerprint(grouped) == fingerprint


@pytest.mark.parametrize("text", ["", "0x1F3D1CED", "7E7C5FA4", "1F3D1CED2F865F5E59CA564553241F147E7C5FAG"])
def test_a_short_key_id_is_not_accepted_as_a_fingerprint(text):
    assert refused(read_fingerprint, text) == said(
        "FT-CFG-135", "the fingerprint of an OpenPGP key", "all of its 40 or 64 hexadecimal digits"
    )


def test_a_private_key_instead_of_a_fingerprint_has_to_be_revoked():
    assert refused(read_fingerprint, openpgp_key("first").private) == said(
        "FT-CFG-720", "the fingerprint of another one"
    )
