"""Certificates of authorities, public keys of signers, private keys of GitHub Apps: which are accepted or refused."""

import re

import pytest
import sample_keys as keys
from pysequoia import Cert
from pysequoia.packet import PacketPile
from sample_sops_keys import openpgp_key

from components.config.wordings import message_of
from components.keys.app_keys import AppKeyError, read_app_key
from components.keys.certificates import CertificateError, read_authority
from components.keys.config_wordings import (
    APP_KEY_NOT_RSA,
    APP_KEY_WITH_PASSPHRASE,
    DAMAGED_APP_KEY,
    DAMAGED_CERTIFICATE,
    DAMAGED_OPENPGP_PUBLIC_KEY,
    NOT_A_CERTIFICATE,
    NOT_A_SIGNING_KEY,
    NOT_AN_APP_KEY,
    NOT_AN_OPENPGP_PUBLIC_KEY,
    OPENPGP_PRIVATE_KEY,
    PRIVATE_KEY_BESIDE_CERTIFICATE,
    SHORT_APP_KEY,
)
from components.keys.openpgp_keys import OpenPgpKeyError, read_public_key
from components.keys.signing_keys import SigningKeyError, read_signing_key, suffix_of

CERTIFICATE = keys.certificate()
OPENPGP = keys.openpgp_public_key()
NO_CHECKSUM = re.sub("^=.*\n", "", OPENPGP, flags=re.MULTILINE)
NO_HEADERS = re.sub("^Comment: .*\n", "", OPENPGP, flags=re.MULTILINE)
APP_KEY = keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL)


@pytest.mark.parametrize("text", [CERTIFICATE, CERTIFICATE + CERTIFICATE])
def test_one_or_more_certificates_are_accepted(text):
    assert read_authority(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NOT_A_CERTIFICATE()),
        ("ca.crt", NOT_A_CERTIFICATE()),
        (
            keys.public_pem(keys.ec_key()),
            NOT_A_CERTIFICATE(),
        ),
        (CERTIFICATE[:150], DAMAGED_CERTIFICATE()),
        (CERTIFICATE + CERTIFICATE[:150], DAMAGED_CERTIFICATE()),
        (keys.block("CERTIFICATE", bytes(9)), DAMAGED_CERTIFICATE()),
        (
            CERTIFICATE + keys.private_text(keys.ec_key(), keys.PKCS8),
            PRIVATE_KEY_BESIDE_CERTIFICATE(),
        ),
        (
            keys.private_text(keys.ec_key(), keys.TRADITIONAL),
            PRIVATE_KEY_BESIDE_CERTIFICATE(),
        ),
    ],
)
def test_an_invalid_certificate_is_refused(text, reason):
    with pytest.raises(CertificateError) as refused:
        read_authority(text)

    assert message_of(refused.value) == reason


@pytest.mark.parametrize("text", [OPENPGP, NO_CHECKSUM, NO_HEADERS])
def test_an_armored_public_key_is_accepted_with_or_without_headers_and_checksum(text):
    assert read_public_key(f"\n{text}".replace("\n", "\r\n")) == text


def test_a_public_key_whose_packets_have_headers_of_the_old_format_is_accepted():
    """GnuPG writes them. Source: RFC 9580, section 4.2.2."""
    key = Cert.from_bytes(OPENPGP.encode())
    packets = [
        bytes([0x81 | int(packet.tag) << 2]) + len(packet.body).to_bytes(2) + bytes(packet.body)
        for packet in PacketPile.from_bytes(bytes(key))
    ]
    old_format = keys.block("PGP PUBLIC KEY BLOCK", b"".join(packets)).replace("-----\n", "-----\n\n", 1)

    assert read_public_key(old_format) == old_format


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NOT_AN_OPENPGP_PUBLIC_KEY()),
        ("0xB0B", NOT_AN_OPENPGP_PUBLIC_KEY()),
        (OPENPGP + OPENPGP, NOT_AN_OPENPGP_PUBLIC_KEY()),
        (OPENPGP.replace("PUBLIC KEY BLOCK", "SIGNATURE"), NOT_AN_OPENPGP_PUBLIC_KEY()),
        (keys.public_line(keys.ed25519_key()), NOT_AN_OPENPGP_PUBLIC_KEY()),
        (OPENPGP.replace("PUBLIC", "PRIVATE"), OPENPGP_PRIVATE_KEY()),
        (OPENPGP + OPENPGP.replace("PUBLIC", "PRIVATE"), OPENPGP_PRIVATE_KEY()),
        pytest.param(OPENPGP[:80], DAMAGED_OPENPGP_PUBLIC_KEY(), id="truncated"),
        ("a note\n" + OPENPGP, DAMAGED_OPENPGP_PUBLIC_KEY()),
        (OPENPGP.replace("\n\n", "\n"), DAMAGED_OPENPGP_PUBLIC_KEY()),
        (OPENPGP.replace("xj", "x?"), DAMAGED_OPENPGP_PUBLIC_KEY()),
        (OPENPGP.replace("xj", "Bj"), DAMAGED_OPENPGP_PUBLIC_KEY()),
        ("\n".join([*OPENPGP.splitlines()[:5], *OPENPGP.splitlines()[6:]]), DAMAGED_OPENPGP_PUBLIC_KEY()),
    ],
)
def test_an_invalid_openpgp_public_key_is_refused(text, reason):
    with pytest.raises(OpenPgpKeyError) as refused:
        read_public_key(text)

    assert message_of(refused.value) == reason


def test_a_private_key_labeled_as_a_public_one_is_refused():
    text = openpgp_key("ana").private.replace("PRIVATE", "PUBLIC")

    with pytest.raises(OpenPgpKeyError) as refused:
        read_public_key(text)

    assert message_of(refused.value) == OPENPGP_PRIVATE_KEY()


@pytest.mark.parametrize("form", [keys.TRADITIONAL, keys.PKCS8])
def test_an_rsa_key_is_accepted_in_githubs_format_and_in_pkcs8(form):
    text = keys.private_text(keys.rsa_key(2048), form)

    assert read_app_key(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NOT_AN_APP_KEY()),
        (APP_KEY + APP_KEY, NOT_AN_APP_KEY()),
        (keys.public_pem(keys.rsa_key(2048)), NOT_AN_APP_KEY()),
        (keys.private_text(keys.rsa_key(2048), keys.OPENSSH), NOT_AN_APP_KEY()),
        (APP_KEY[:300], NOT_AN_APP_KEY()),
        (
            "\n".join(APP_KEY.splitlines()[:5] + APP_KEY.splitlines()[6:]),
            DAMAGED_APP_KEY(),
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL, keys.PASSPHRASE),
            APP_KEY_WITH_PASSPHRASE(),
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.PKCS8, keys.PASSPHRASE),
            APP_KEY_WITH_PASSPHRASE(),
        ),
        (keys.private_text(keys.ec_key(), keys.PKCS8), APP_KEY_NOT_RSA()),
        (
            keys.private_text(keys.rsa_key(1024), keys.TRADITIONAL),
            SHORT_APP_KEY(bits=1024),
        ),
    ],
)
def test_an_invalid_app_key_is_refused(text, reason):
    with pytest.raises(AppKeyError) as refused:
        read_app_key(text)

    assert message_of(refused.value) == reason


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (OPENPGP, ".asc"),
        (keys.public_line(keys.ed25519_key()), ".sshpub"),
        (keys.public_line(keys.ed25519_key()) + " ana@example.com", ".sshpub"),
        (keys.public_line(keys.rsa_key(3072)), ".sshpub"),
    ],
)
def test_signing_keys_are_openpgp_or_ssh_keys_which_flux_tells_apart_by_suffix(text, suffix):
    assert read_signing_key(f"{text}\n") == text
    assert suffix_of(read_signing_key(text)) == suffix


@pytest.mark.parametrize(
    "text",
    ["", "ana", "ssh-ed25519", keys.public_line(keys.ed25519_key())[:40], keys.public_line(keys.ed25519_key()) * 2],
)
def test_an_invalid_signing_key_is_refused(text):
    with pytest.raises(SigningKeyError) as refused:
        read_signing_key(text)

    assert message_of(refused.value) == NOT_A_SIGNING_KEY()


def test_a_private_signing_key_is_refused_and_not_repeated():
    text = keys.private_text(keys.ed25519_key(), keys.OPENSSH)

    with pytest.raises(OpenPgpKeyError) as refused:
        read_signing_key(text)

    assert message_of(refused.value) == OPENPGP_PRIVATE_KEY()
    assert text.splitlines()[1] not in str(refused.value)
