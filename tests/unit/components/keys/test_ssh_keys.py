"""Which private SSH keys are taken, what is derived from them, and what the others are told."""

import shutil
import subprocess

import pytest
import sample_keys as keys
from cryptography.hazmat.primitives.asymmetric import ec, ed448

from components.keys.ssh_keys import SshKeyError, generate, read_private_key

ACCEPTED = "ed25519, ECDSA P-384, or RSA from 3072 bits"
AS_IT_IS = "give the file as it is, with its line breaks, by `pulumi config set --secret --path … < file`"
DAMAGED = f"is not a whole private key: something of it is missing, changed, or stands around it; {AS_IT_IS}"
NO_KEY = f"is not a private key: no line of it is -----BEGIN … PRIVATE KEY-----; {AS_IT_IS}"
PUBLIC = "is or holds a public key; give the private half, and nothing beside it: the public one is derived from it"
PROTECTED = (
    "is protected by a passphrase, which Flux cannot ask for; take it off with `ssh-keygen -p -N ''`, "
    "or give a key of its own without one"
)
OTHER_KIND = f"of a kind that Git hosts do not take; give {ACCEPTED}"
NEW = generate().private


def refusal(text: str) -> str:
    """Why a text is no key, with nothing of the text in it."""
    with pytest.raises(SshKeyError) as refused:
        read_private_key(text)
    lines = {line.strip() for line in text.splitlines() if len(line) > 20 and "-----" not in line}
    assert not [line for line in lines if line in str(refused.value)]
    assert refused.value.__cause__ is None
    return str(refused.value)


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
def test_strong_keys_are_taken_in_every_format_that_flux_reads(key, form):
    text = keys.private_text(key, form)

    read = read_private_key(text)

    assert read.private == text
    assert read.public == keys.public_line(key)


@pytest.mark.parametrize("change", [str.strip, lambda text: text.replace("\n", "\r\n"), lambda text: f"\n\n{text}\n\n"])
def test_nothing_but_line_ends_is_changed(change):
    assert read_private_key(change(NEW)).private == NEW


def test_a_new_key_is_ed25519_in_the_format_of_openssh_and_no_two_are_alike():
    key, other = generate(), generate()

    assert key.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert key.public.startswith("ssh-ed25519 AAAA")
    assert len(key.public.split()) == 2
    assert key == read_private_key(key.private)
    assert key.private != other.private


def test_the_private_half_is_in_no_representation():
    key = generate()

    assert key.private.splitlines()[1] not in f"{key} {key!r}"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
@pytest.mark.parametrize("key", [NEW, keys.private_text(keys.ec_key(), keys.PKCS8)], ids=["ed25519", "P-384"])
def test_openssh_sees_the_same_public_half_and_fingerprint(tmp_path, key):
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text(key)
    read = read_private_key(key)

    def said(*options: str) -> str:
        return subprocess.run(["ssh-keygen", *options, "-f", file], capture_output=True, text=True, check=True).stdout

    assert " ".join(said("-y").split()[:2]) == read.public
    assert said("-l").split()[1] == read.fingerprint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty; `make deploy-key` makes one"),
        (" \n", "is empty; `make deploy-key` makes one"),
        ("secret", NO_KEY),
        (NEW.replace("\n", " "), NO_KEY),
        (NEW.replace("\n", "\\n"), NO_KEY),
        (NEW[:200], DAMAGED),
        ("\n".join(NEW.splitlines()[:-2] + NEW.splitlines()[-1:]), DAMAGED),
        ("\n".join(NEW.splitlines()[:2] + NEW.splitlines()[3:]), f"is damaged, or {OTHER_KIND}"),
        ("\n".join(NEW.splitlines()[1:]), NO_KEY),
        (NEW.replace("-----END", "and so on\n-----END"), DAMAGED),
        (f"key: {NEW}".replace("key: ", "a note\n"), DAMAGED),
        (keys.block("OPENSSH PRIVATE KEY", bytes(100)), DAMAGED),
        (keys.block("PRIVATE KEY", b"0"), DAMAGED),
        (keys.with_passphrase_openssh(), PROTECTED),
        (keys.private_text(keys.ec_key(), keys.PKCS8, keys.PASSPHRASE), PROTECTED),
        (keys.private_text(keys.ec_key(), keys.TRADITIONAL, keys.PASSPHRASE), PROTECTED),
        (keys.public_line(keys.ed25519_key()), PUBLIC),
        (keys.public_line(keys.rsa_key(2048)) + " somebody@host", PUBLIC),
        (keys.public_pem(keys.ec_key()), PUBLIC),
        ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----\n", PUBLIC),
        (NEW + keys.public_line(keys.ed25519_key()), PUBLIC),
        (keys.openpgp_public_key(), "is an OpenPGP key, which is no SSH key; give a private SSH key"),
        (
            keys.block("PGP PRIVATE KEY BLOCK", bytes(9)),
            "is an OpenPGP key, which is no SSH key; give a private SSH key",
        ),
        (keys.certificate(), "holds a certificate; give a private SSH key, and nothing beside it"),
        (NEW + keys.certificate(), "holds a certificate; give a private SSH key, and nothing beside it"),
        (
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
            "is a key in PuTTY's format; export it with `puttygen <file> -O private-openssh-new`",
        ),
        (NEW + NEW, "holds 2 blocks (OPENSSH PRIVATE KEY, OPENSSH PRIVATE KEY); leave the one private key"),
        (
            keys.block("EC PARAMETERS", b"P-384") + keys.private_text(keys.ec_key(), keys.TRADITIONAL),
            "holds 2 blocks (EC PARAMETERS, EC PRIVATE KEY); leave the one private key",
        ),
        (
            keys.block("NEW REQUEST", b"0"),
            "is in a format that Flux does not read (NEW REQUEST); give OpenSSH's or PKCS#8",
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.OPENSSH),
            f"is an RSA key of 2048 bits, which is too short; give {ACCEPTED}",
        ),
        (
            keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL),
            f"is an RSA key of 2048 bits, which is too short; give {ACCEPTED}",
        ),
        (
            keys.private_text(keys.ec_key(ec.SECP256R1), keys.OPENSSH),
            f"is an ECDSA key on the curve secp256r1; give {ACCEPTED}",
        ),
        (
            keys.private_text(keys.ec_key(ec.SECP521R1), keys.PKCS8),
            f"is an ECDSA key on the curve secp521r1; give {ACCEPTED}",
        ),
        (
            keys.private_text(keys.dsa_key(), keys.PKCS8),
            f"is a DSA key, which Git hosts no longer take; give {ACCEPTED}",
        ),
        (
            keys.private_text(keys.dsa_key(), keys.TRADITIONAL),
            f"is a DSA key, which Git hosts no longer take; give {ACCEPTED}",
        ),
        (
            keys.openssh_of(b"sk-ssh-ed25519@openssh.com"),
            f"is damaged, or {OTHER_KIND}",
        ),
        (
            keys.private_text(ed448.Ed448PrivateKey.generate(), keys.PKCS8),
            f"is {OTHER_KIND}",
        ),
    ],
)
def test_what_is_no_usable_key_is_refused_with_what_to_do(text, reason):
    assert refusal(text) == reason
