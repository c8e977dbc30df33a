"""Certificates of authorities, public keys of signers, private keys of GitHub Apps: which are accepted or refused."""

import re
from textwrap import indent

import pytest
import sample_keys as keys
from pysequoia import Cert
from pysequoia.packet import PacketPile
from sample_sops_keys import openpgp_key

from flux_tenancy.components.config.messages import message_of
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
NO_CERTIFICATE = said(
    "FT-CFG-135", "one or more complete certificates in PEM", "all from -----BEGIN CERTIFICATE----- on"
)
NO_PUBLIC_BLOCK = said(
    "FT-CFG-135",
    "one complete OpenPGP public key block, without other text around it",
    "the output of `gpg --export --armor <key>`",
)
EXPOSED_AUTHORITY = said("FT-CFG-720", "a certificate of another one")
EXPOSED_KEY = said("FT-CFG-720", "the output of `gpg --export --armor <key>` for another one")
FORGEABLE = said("FT-CFG-146")

CERTIFICATE = keys.certificate()
OPENPGP = keys.openpgp_public_key()
NO_CHECKSUM = re.sub("^=.*\n", "", OPENPGP, flags=re.MULTILINE)
NO_HEADERS = re.sub("^Comment: .*\n", "", OPENPGP, flags=re.MULTILINE)
PRIVATE_AS_PUBLIC = openpgp_key("ana").private.replace("PRIVATE", "PUBLIC")
APP_KEY = keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL)
PRIVATE_EC = keys.private_text(keys.ec_key(), keys.PKCS8)
ED25519 = keys.public_line(keys.ed25519_key())


def refused(read, text):
    """Why a text is refused, which repeats none of its lines."""
    with pytest.raises(ValueError) as error:
        read(text)
    assert not [line for line in text.splitlines()[1:-1] if line and "-----" not in line and line in str(error.value)]
    return message_of(error.value)


@pytest.mark.parametrize("text", [CERTIFICATE, CERTIFICATE + CERTIFICATE])
def test_one_or_more_certificates_are_accepted(text):
    assert read_authority(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (NO_CERTIFICATE, ""),
        (NO_CERTIFICATE, "ca.crt"),
        (NO_CERTIFICATE, keys.public_pem(keys.ec_key())),
        (NO_CERTIFICATE, CERTIFICATE[:150]),
        (NO_CERTIFICATE, CERTIFICATE + CERTIFICATE[:150]),
        (NO_CERTIFICATE, keys.block("CERTIFICATE", bytes(9))),
        (EXPOSED_AUTHORITY, CERTIFICATE + PRIVATE_EC),
        (EXPOSED_AUTHORITY, keys.private_text(keys.ec_key(), keys.TRADITIONAL)),
        (EXPOSED_AUTHORITY, CERTIFICATE + indent(PRIVATE_EC, "  ")),
    ],
)
def test_an_invalid_certificate_is_refused(reason, text):
    assert refused(read_authority, text) == reason


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
    ("reason", "text"),
    [
        pytest.param(NO_PUBLIC_BLOCK, "", id="empty"),
        pytest.param(NO_PUBLIC_BLOCK, "0xB0B", id="a key id"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP + OPENPGP, id="two keys"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP.replace("PUBLIC KEY BLOCK", "SIGNATURE"), id="a signature"),
        pytest.param(NO_PUBLIC_BLOCK, ED25519, id="an SSH key"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP[:80], id="cut off"),
        pytest.param(NO_PUBLIC_BLOCK, "a note\n" + OPENPGP, id="a note before it"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP.replace("\n\n", "\n"), id="no blank line"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP.replace("xj", "x?"), id="no base64"),
        pytest.param(NO_PUBLIC_BLOCK, OPENPGP.replace("xj", "Bj"), id="other packets"),
        pytest.param(
            NO_PUBLIC_BLOCK, "\n".join([*OPENPGP.splitlines()[:5], *OPENPGP.splitlines()[6:]]), id="a line is missing"
        ),
        # A private key may be readable whatever its label.
        pytest.param(EXPOSED_KEY, OPENPGP.replace("PUBLIC", "PRIVATE"), id="a private label"),
        pytest.param(EXPOSED_KEY, OPENPGP + OPENPGP.replace("PUBLIC", "PRIVATE"), id="a private label beside it"),
        pytest.param(EXPOSED_KEY, PRIVATE_AS_PUBLIC, id="a private key labelled as public"),
    ],
)
def test_an_invalid_openpgp_public_key_is_refused(reason, text):
    assert refused(read_public_key, text) == reason


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
        PRIVATE_EC,
        keys.private_text(keys.rsa_key(1024), keys.TRADITIONAL),
    ],
)
def test_an_invalid_app_key_is_refused(text):
    assert refused(read_app_key, text).code == "FT-CFG-135"


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (OPENPGP, ".asc"),
        (ED25519, ".sshpub"),
        (f"{ED25519} ana@example.com", ".sshpub"),
        (keys.public_line(keys.rsa_key(3072)), ".sshpub"),
    ],
)
def test_signing_keys_are_openpgp_or_ssh_keys_which_flux_tells_apart_by_suffix(text, suffix):
    assert read_signing_key(f"{text}\n") == text
    assert suffix_of(read_signing_key(text)) == suffix


@pytest.mark.filterwarnings("ignore:SSH DSA key")
@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (NO_SIGNING_KEY, ""),
        (NO_SIGNING_KEY, "ana"),
        (NO_SIGNING_KEY, "ssh-ed25519"),
        (NO_SIGNING_KEY, ED25519[:40]),
        (NO_SIGNING_KEY, ED25519 * 2),
        (NO_SIGNING_KEY, f"{ED25519.strip()}\npa55word"),
        (FORGEABLE, keys.public_line(keys.rsa_key(1024))),
        (FORGEABLE, keys.public_line(keys.dsa_key())),
        (EXPOSED_KEY, keys.private_text(keys.ed25519_key(), keys.OPENSSH)),
    ],
)
def test_an_invalid_signing_key_is_refused(reason, text):
    assert refused(read_signing_key, text) == reason


@pytest.mark.parametrize("key", [keys.rsa_key(1024), keys.dsa_key()])
def test_a_cosign_key_whose_signatures_can_be_forged_is_refused(key):
    assert refused(read_cosign_key, keys.public_pem(key)) == FORGEABLE
