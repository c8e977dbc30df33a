"""Private SSH keys: which are accepted, what is derived from them, and why the others are refused."""

import shutil
import subprocess

import pytest
import sample_keys as keys
from cryptography.hazmat.primitives.asymmetric import ec, ed448

from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.keys.ssh_keys import SHORTEST_RSA, SshKeyError, generate, read_private_key
from tests.support.messages import said

NO_KEY = said(
    "FT-CFG-135",
    "a private key: it has no line -----BEGIN … PRIVATE KEY-----",
    "the whole file with its line breaks: `pulumi config set --secret --path … < file`",
)

NEW = generate().private


def refusal(text: str) -> Message:
    """Why a text is no key, with nothing of the text in it."""
    with pytest.raises(SshKeyError) as refused:
        read_private_key(text)
    lines = {line.strip() for line in text.splitlines() if len(line) > 20 and "-----" not in line}
    assert not [line for line in lines if line in str(refused.value)]
    assert refused.value.__cause__ is None
    return message_of(refused.value)


@pytest.mark.parametrize(
    ("key", "form"),
    [
        (keys.ed25519_key(), keys.OPENSSH),
        (keys.ed25519_key(), keys.PKCS8),
        (keys.ec_key(), keys.OPENSSH),
        (keys.ec_key(), keys.PKCS8),
        (keys.ec_key(), keys.TRADITIONAL),
        (keys.rsa_key(3072), keys.OPENSSH),
        (keys.rsa_key(3072), keys.PKCS8),
        (keys.rsa_key(3072), keys.TRADITIONAL),
    ],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
def test_strong_keys_are_accepted_in_every_format_that_flux_reads(key, form):
    text = keys.private_text(key, form)

    read = read_private_key(text)

    assert read.private == text
    assert read.public == keys.public_line(key)


@pytest.mark.parametrize("change", [str.strip, lambda text: text.replace("\n", "\r\n"), lambda text: f"\n\n{text}\n\n"])
def test_only_line_endings_are_changed(change):
    assert read_private_key(change(NEW)).private == NEW


def test_a_new_key_is_a_unique_ed25519_key_in_the_format_of_openssh():
    key, other = generate(), generate()

    assert key.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert key.public.startswith("ssh-ed25519 AAAA")
    assert len(key.public.split()) == 2
    assert key == read_private_key(key.private)
    assert key.private != other.private


def test_printing_a_key_does_not_show_its_private_half():
    key = generate()

    assert key.private.splitlines()[1] not in f"{key} {key!r}"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
@pytest.mark.parametrize("key", [NEW, keys.private_text(keys.ec_key(), keys.PKCS8)], ids=["ed25519", "P-384"])
def test_openssh_sees_the_same_public_half_and_fingerprint(tmp_path, key):
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text(key)
    read = read_private_key(key)

    def keygen(*options: str) -> str:
        return subprocess.run(["ssh-keygen", *options, "-f", file], capture_output=True, text=True, check=True).stdout

    assert " ".join(keygen("-y").split()[:2]) == read.public
    assert keygen("-l").split()[1] == read.fingerprint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "",
            NO_KEY,
        ),
        (
            " \n",
            NO_KEY,
        ),
        (
            "secret",
            NO_KEY,
        ),
        (
            NEW.replace("\n", " "),
            NO_KEY,
        ),
        (
            NEW.replace("\n", "\\n"),
            NO_KEY,
        ),
        (NEW[:200], said("FT-CFG-138")),
        ("\n".join(NEW.splitlines()[:-2] + NEW.splitlines()[-1:]), said("FT-CFG-138")),
        ("\n".join(NEW.splitlines()[:2] + NEW.splitlines()[3:]), said("FT-CFG-144")),
        (
            "\n".join(NEW.splitlines()[1:]),
            NO_KEY,
        ),
        (NEW.replace("-----END", "and so on\n-----END"), said("FT-CFG-138")),
        (f"key: {NEW}".replace("key: ", "a note\n"), said("FT-CFG-138")),
        (keys.block("OPENSSH PRIVATE KEY", bytes(100)), said("FT-CFG-138")),
        (keys.block("PRIVATE KEY", b"0"), said("FT-CFG-138")),
        (
            keys.with_passphrase_openssh(),
            said("FT-CFG-139", "create a separate key with `flux-tenancy key deploy`, which stores it encrypted"),
        ),
        (
            keys.private_text(keys.ec_key(), keys.PKCS8, keys.PASSPHRASE),
            said("FT-CFG-139", "create a separate key with `flux-tenancy key deploy`, which stores it encrypted"),
        ),
        (
            keys.private_text(keys.ec_key(), keys.TRADITIONAL, keys.PASSPHRASE),
            said("FT-CFG-139", "create a separate key with `flux-tenancy key deploy`, which stores it encrypted"),
        ),
        (keys.public_line(keys.ed25519_key()), said("FT-CFG-136", "a public key")),
        (keys.public_line(keys.rsa_key(2048)) + " somebody@host", said("FT-CFG-136", "a public key")),
        (keys.public_pem(keys.ec_key()), said("FT-CFG-136", "a public key")),
        ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----\n", said("FT-CFG-136", "a public key")),
        (NEW + keys.public_line(keys.ed25519_key()), said("FT-CFG-136", "a public key")),
        (keys.openpgp_public_key(), said("FT-CFG-136", "an OpenPGP key")),
        (keys.block("PGP PRIVATE KEY BLOCK", bytes(9)), said("FT-CFG-136", "an OpenPGP key")),
        (keys.certificate(), said("FT-CFG-136", "a certificate")),
        (NEW + keys.certificate(), said("FT-CFG-136", "a certificate")),
        (
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
            said("FT-CFG-137", "PuTTY's format", "export it with `puttygen <file> -O private-openssh-new`"),
        ),
        (NEW + NEW, said("FT-CFG-136", "2 blocks (OPENSSH PRIVATE KEY, OPENSSH PRIVATE KEY)")),
        (
            keys.block("EC PARAMETERS", b"P-384") + keys.private_text(keys.ec_key(), keys.TRADITIONAL),
            said("FT-CFG-136", "2 blocks (EC PARAMETERS, EC PRIVATE KEY)"),
        ),
        (
            keys.block("NEW REQUEST", b"0"),
            said("FT-CFG-137", "the format NEW REQUEST", "convert it to OpenSSH's format or PKCS#8"),
        ),
        (keys.private_text(keys.rsa_key(2048), keys.OPENSSH), said("FT-CFG-140", "an RSA key of only 2048 bits")),
        (keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL), said("FT-CFG-140", "an RSA key of only 2048 bits")),
        (
            keys.private_text(keys.ec_key(ec.SECP256R1), keys.OPENSSH),
            said("FT-CFG-140", "an ECDSA key on the curve secp256r1"),
        ),
        (
            keys.private_text(keys.ec_key(ec.SECP521R1), keys.PKCS8),
            said("FT-CFG-140", "an ECDSA key on the curve secp521r1"),
        ),
        (keys.private_text(keys.dsa_key(), keys.PKCS8), said("FT-CFG-140", "a DSA key")),
        (keys.private_text(keys.dsa_key(), keys.TRADITIONAL), said("FT-CFG-140", "a DSA key")),
        (keys.openssh_of(b"sk-ssh-ed25519@openssh.com"), said("FT-CFG-144")),
        (keys.private_text(ed448.Ed448PrivateKey.generate(), keys.PKCS8), said("FT-CFG-140", "a key of another type")),
    ],
)
def test_an_unusable_key_is_refused_with_a_remedy(text, reason):
    answer = refusal(text)

    assert (answer.code, answer) == (reason.code, reason)


def test_the_remedy_for_a_weak_key_names_the_shortest_rsa_key():
    assert f" {SHORTEST_RSA} bits" in said("FT-CFG-140", "a DSA key").remedy
