"""Private SSH keys: which are accepted, what is derived from them, and why the others are refused."""

import shutil
import subprocess

import pytest
import sample_keys as keys
from cryptography.hazmat.primitives.asymmetric import ec, ed448

from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.ssh_keys import SHORTEST_RSA, generate, read_private_key
from tests.support.messages import said

NEW = generate().private


def refusal(text: str) -> Message:
    """Why a text is no key, with nothing of the text in it."""
    with pytest.raises(InvalidKeyError) as refused:
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


NOT_ONE_KEY = (
    "",
    "secret",
    NEW.replace("\n", " "),
    NEW.replace("\n", "\\n"),
    NEW[:200],
    "\n".join(NEW.splitlines()[1:]),
    "a note\n" + NEW,
    keys.public_line(keys.rsa_key(2048)) + " somebody@host",
    keys.public_pem(keys.ec_key()),
    "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----\n",
    NEW + keys.public_line(keys.ed25519_key()),
    keys.openpgp_public_key(),
    keys.block("PGP PRIVATE KEY BLOCK", bytes(9)),
    NEW + keys.certificate(),
    "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
    NEW + NEW,
    keys.block("EC PARAMETERS", b"P-384") + keys.private_text(keys.ec_key(), keys.TRADITIONAL),
    keys.block("NEW REQUEST", b"0"),
    keys.private_text(keys.dsa_key(), keys.TRADITIONAL),
)
DAMAGED = (
    "\n".join(NEW.splitlines()[:-2] + NEW.splitlines()[-1:]),
    "\n".join(NEW.splitlines()[:2] + NEW.splitlines()[3:]),
    NEW.replace("-----END", "and so on\n-----END"),
    keys.block("OPENSSH PRIVATE KEY", bytes(100)),
    keys.block("PRIVATE KEY", b"0"),
    keys.openssh_of(b"sk-ssh-ed25519@openssh.com"),
)
LOCKED = (
    keys.with_passphrase_openssh(),
    keys.private_text(keys.ec_key(), keys.PKCS8, keys.PASSPHRASE),
    keys.private_text(keys.ec_key(), keys.TRADITIONAL, keys.PASSPHRASE),
)
WEAK = (
    keys.private_text(keys.rsa_key(2048), keys.OPENSSH),
    keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL),
    keys.private_text(keys.ec_key(ec.SECP256R1), keys.OPENSSH),
    keys.private_text(keys.ec_key(ec.SECP521R1), keys.PKCS8),
    keys.private_text(keys.dsa_key(), keys.PKCS8),
    keys.private_text(ed448.Ed448PrivateKey.generate(), keys.PKCS8),
)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (code, text)
        for code, texts in {
            "FT-CFG-135": NOT_ONE_KEY,
            "FT-CFG-138": DAMAGED,
            "FT-CFG-139": LOCKED,
            "FT-CFG-140": WEAK,
        }.items()
        for text in texts
    ],
)
def test_an_unusable_key_is_refused(code, text):
    assert refusal(text).code == code


def test_the_remedy_for_a_weak_key_names_the_shortest_rsa_key():
    assert f" {SHORTEST_RSA} bits" in said("FT-CFG-140", "a DSA key").remedy
