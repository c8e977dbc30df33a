"""Certificates of authorities, public keys of signers, private keys of GitHub Apps: which are accepted or refused."""

import re
from textwrap import indent

import pytest
import sample_keys as keys
from pysequoia import Cert
from pysequoia.packet import PacketPile
from sample_sops_keys import openpgp_key

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.openpgp_keys import read_public_key
from flux_tenancy.components.keys.signing_keys import (
    read_app_key,
    read_authority,
    read_cosign_key,
    read_signing_key,
    suffix_of,
)
from tests.support.messages import said

NO_SIGNING_KEY = said(
    "FT-CFG-135",
    "an OpenPGP public key block or an SSH public key",
    "the output of `gpg --export --armor <key>`, or the line of the .pub file",
)

EXPOSED_AUTHORITY = said("FT-CFG-720", "a certificate of another one")

NO_CERTIFICATE = said(
    "FT-CFG-135", "one or more complete certificates in PEM", "all from -----BEGIN CERTIFICATE----- on"
)

NO_PUBLIC_BLOCK = said(
    "FT-CFG-135",
    "one complete OpenPGP public key block, without other text around it",
    "the output of `gpg --export --armor <key>`",
)

CERTIFICATE = keys.certificate()
OPENPGP = keys.openpgp_public_key()
NO_CHECKSUM = re.sub("^=.*\n", "", OPENPGP, flags=re.MULTILINE)
NO_HEADERS = re.sub("^Comment: .*\n", "", OPENPGP, flags=re.MULTILINE)
PRIVATE_AS_PUBLIC = openpgp_key("ana").private.replace("PRIVATE", "PUBLIC")
APP_KEY = keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL)


@pytest.mark.parametrize("text", [CERTIFICATE, CERTIFICATE + CERTIFICATE])
def test_one_or_more_certificates_are_accepted(text):
    assert read_authority(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NO_CERTIFICATE),
        ("ca.crt", NO_CERTIFICATE),
        (
            keys.public_pem(keys.ec_key()),
            NO_CERTIFICATE,
        ),
        (CERTIFICATE[:150], NO_CERTIFICATE),
        (CERTIFICATE + CERTIFICATE[:150], NO_CERTIFICATE),
        (keys.block("CERTIFICATE", bytes(9)), NO_CERTIFICATE),
        (
            CERTIFICATE + keys.private_text(keys.ec_key(), keys.PKCS8),
            EXPOSED_AUTHORITY,
        ),
        (
            keys.private_text(keys.ec_key(), keys.TRADITIONAL),
            EXPOSED_AUTHORITY,
        ),
        (
            CERTIFICATE + indent(keys.private_text(keys.ec_key(), keys.PKCS8), "  "),
            EXPOSED_AUTHORITY,
        ),
    ],
)
def test_an_invalid_certificate_is_refused(text, reason):
    with pytest.raises(InvalidKeyError) as refused:
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
    "text",
    [
        "",
        "0xB0B",
        OPENPGP + OPENPGP,
        OPENPGP.replace("PUBLIC KEY BLOCK", "SIGNATURE"),
        keys.public_line(keys.ed25519_key()),
        pytest.param(OPENPGP[:80], id="truncated"),
        "a note\n" + OPENPGP,
        OPENPGP.replace("\n\n", "\n"),
        OPENPGP.replace("xj", "x?"),
        OPENPGP.replace("xj", "Bj"),
        "\n".join([*OPENPGP.splitlines()[:5], *OPENPGP.splitlines()[6:]]),
    ],
)
def test_an_invalid_openpgp_public_key_is_refused(text):
    with pytest.raises(InvalidKeyError) as refused:
        read_public_key(text)

    assert message_of(refused.value) == NO_PUBLIC_BLOCK


@pytest.mark.parametrize(
    "text", [OPENPGP.replace("PUBLIC", "PRIVATE"), OPENPGP + OPENPGP.replace("PUBLIC", "PRIVATE"), PRIVATE_AS_PUBLIC]
)
def test_a_private_key_is_refused_as_readable_whatever_its_label(text):
    with pytest.raises(InvalidKeyError) as refused:
        read_public_key(text)

    assert message_of(refused.value) == said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one")


@pytest.mark.parametrize("form", [keys.TRADITIONAL, keys.PKCS8])
def test_an_rsa_key_is_accepted_in_githubs_format_and_in_pkcs8(form):
    text = keys.private_text(keys.rsa_key(2048), form)

    assert read_app_key(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        APP_KEY + APP_KEY,
        keys.public_pem(keys.rsa_key(2048)),
        keys.private_text(keys.rsa_key(2048), keys.OPENSSH),
        APP_KEY[:300],
        "\n".join(APP_KEY.splitlines()[:5] + APP_KEY.splitlines()[6:]),
        keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL, keys.PASSPHRASE),
        keys.private_text(keys.rsa_key(2048), keys.PKCS8, keys.PASSPHRASE),
        keys.private_text(keys.ec_key(), keys.PKCS8),
        keys.private_text(keys.rsa_key(1024), keys.TRADITIONAL),
    ],
)
def test_an_invalid_app_key_is_refused(text):
    with pytest.raises(InvalidKeyError) as refused:
        read_app_key(text)

    assert message_of(refused.value).code == "FT-CFG-135"
    assert not [line for line in text.splitlines()[1:-1] if line and line in str(refused.value)]


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
    ["", "ana", "ssh-ed25519", keys.public_line(keys.ed25519_key())[:40], keys.public_line(keys.ed25519_key()) * 2]
    + [f"{keys.public_line(keys.ed25519_key()).strip()}\npa55word"],
)
def test_an_invalid_signing_key_is_refused(text):
    with pytest.raises(InvalidKeyError) as refused:
        read_signing_key(text)

    assert message_of(refused.value) == NO_SIGNING_KEY


@pytest.mark.filterwarnings("ignore:SSH DSA key")
@pytest.mark.parametrize("key", [keys.rsa_key(1024), keys.dsa_key()])
def test_a_key_whose_signatures_can_be_forged_is_refused(key):
    for read, text in ((read_signing_key, keys.public_line(key)), (read_cosign_key, keys.public_pem(key))):
        with pytest.raises(ValueError) as refused:
            read(text)
        assert message_of(refused.value) == said("FT-CFG-146")


def test_a_private_signing_key_is_refused_and_not_repeated():
    text = keys.private_text(keys.ed25519_key(), keys.OPENSSH)

    with pytest.raises(InvalidKeyError) as refused:
        read_signing_key(text)

    assert message_of(refused.value) == said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one")
    assert text.splitlines()[1] not in str(refused.value)
