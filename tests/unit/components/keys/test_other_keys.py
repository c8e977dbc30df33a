"""Certificates of authorities, public keys of signers, private keys of GitHub Apps: which are accepted or refused."""

import re
from textwrap import indent

import pytest
import sample_keys as keys
from pysequoia import Cert
from pysequoia.packet import PacketPile
from sample_sops_keys import openpgp_key

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.keys.openpgp_keys import OpenPgpKeyError, read_public_key
from flux_tenancy.components.keys.signing_keys import (
    AppKeyError,
    CertificateError,
    SigningKeyError,
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

NO_CERTIFICATE = said("FT-CFG-135", "a certificate in PEM", "all from -----BEGIN CERTIFICATE----- on")

NOT_ONE_APP_KEY = said(
    "FT-CFG-135",
    "a private key as GitHub gives it to an App: it is not one RSA private key in PEM",
    "the .pem file from GitHub unchanged",
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
        (CERTIFICATE[:150], said("FT-CFG-124", "certificate")),
        (CERTIFICATE + CERTIFICATE[:150], said("FT-CFG-124", "certificate")),
        (keys.block("CERTIFICATE", bytes(9)), said("FT-CFG-124", "certificate")),
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
        (
            "",
            NO_PUBLIC_BLOCK,
        ),
        (
            "0xB0B",
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP + OPENPGP,
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP.replace("PUBLIC KEY BLOCK", "SIGNATURE"),
            NO_PUBLIC_BLOCK,
        ),
        (
            keys.public_line(keys.ed25519_key()),
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP.replace("PUBLIC", "PRIVATE"),
            said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one"),
        ),
        (
            OPENPGP + OPENPGP.replace("PUBLIC", "PRIVATE"),
            said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one"),
        ),
        pytest.param(
            OPENPGP[:80],
            NO_PUBLIC_BLOCK,
            id="truncated",
        ),
        (
            "a note\n" + OPENPGP,
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP.replace("\n\n", "\n"),
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP.replace("xj", "x?"),
            NO_PUBLIC_BLOCK,
        ),
        (
            OPENPGP.replace("xj", "Bj"),
            NO_PUBLIC_BLOCK,
        ),
        (
            "\n".join([*OPENPGP.splitlines()[:5], *OPENPGP.splitlines()[6:]]),
            NO_PUBLIC_BLOCK,
        ),
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

    assert message_of(refused.value) == said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one")


@pytest.mark.parametrize("form", [keys.TRADITIONAL, keys.PKCS8])
def test_an_rsa_key_is_accepted_in_githubs_format_and_in_pkcs8(form):
    text = keys.private_text(keys.rsa_key(2048), form)

    assert read_app_key(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "",
            NOT_ONE_APP_KEY,
        ),
        (
            APP_KEY + APP_KEY,
            NOT_ONE_APP_KEY,
        ),
        (
            keys.public_pem(keys.rsa_key(2048)),
            NOT_ONE_APP_KEY,
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.OPENSSH),
            NOT_ONE_APP_KEY,
        ),
        (
            APP_KEY[:300],
            NOT_ONE_APP_KEY,
        ),
        (
            "\n".join(APP_KEY.splitlines()[:5] + APP_KEY.splitlines()[6:]),
            said(
                "FT-CFG-135",
                "a private key as GitHub gives it to an App: it is incomplete or damaged",
                "the .pem file from GitHub unchanged",
            ),
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL, keys.PASSPHRASE),
            said(
                "FT-CFG-135",
                "a private key as GitHub gives it to an App: it is protected by a passphrase, which Flux cannot enter",
                "the .pem file from GitHub unchanged",
            ),
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.PKCS8, keys.PASSPHRASE),
            said(
                "FT-CFG-135",
                "a private key as GitHub gives it to an App: it is protected by a passphrase, which Flux cannot enter",
                "the .pem file from GitHub unchanged",
            ),
        ),
        (
            keys.private_text(keys.ec_key(), keys.PKCS8),
            said(
                "FT-CFG-135",
                "a private key as GitHub gives it to an App: it is not an RSA key",
                "the .pem file from GitHub unchanged",
            ),
        ),
        (
            keys.private_text(keys.rsa_key(1024), keys.TRADITIONAL),
            said(
                "FT-CFG-135",
                "a private key as GitHub gives it to an App: it is an RSA key of only 1024 bits",
                "the .pem file from GitHub unchanged",
            ),
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
    ["", "ana", "ssh-ed25519", keys.public_line(keys.ed25519_key())[:40], keys.public_line(keys.ed25519_key()) * 2]
    + [f"{keys.public_line(keys.ed25519_key()).strip()}\npa55word"],
)
def test_an_invalid_signing_key_is_refused(text):
    with pytest.raises(SigningKeyError) as refused:
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

    with pytest.raises(OpenPgpKeyError) as refused:
        read_signing_key(text)

    assert message_of(refused.value) == said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one")
    assert text.splitlines()[1] not in str(refused.value)
