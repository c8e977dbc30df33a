"""Secrets that tests encrypt without Pulumi's CLI."""

from base64 import b64decode

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support import passphrase
from tests.support.passphrase import encrypted

# An `encryptionsalt` made by Pulumi, which ends with the text `pulumi`, encrypted.
MADE_BY_PULUMI = "v1:cJq06Aj7bdA=:v1:nkYF7Y1zhwmd5Ic1:TviZEwPMWebnvrYnHTHKhXHdG8OEFw=="
PASSPHRASE = "flux-tenancy-lab"


def decrypted(value: str, salt: str) -> str:
    _, nonce, sealed = value.split(":")
    cipher: AESGCM = passphrase._cipher(salt.split(":")[1], PASSPHRASE)
    return cipher.decrypt(b64decode(nonce), b64decode(sealed), None).decode()


def test_the_key_of_a_salt_is_the_one_that_pulumi_derives():
    assert decrypted(MADE_BY_PULUMI.split(":", 2)[2], MADE_BY_PULUMI) == "pulumi"


def test_a_text_is_encrypted_with_the_key_of_the_salt_and_differently_each_time():
    first, second = (encrypted("hunter2\n", MADE_BY_PULUMI, PASSPHRASE) for _ in range(2))

    assert first != second
    assert [decrypted(each, MADE_BY_PULUMI) for each in (first, second)] == ["hunter2\n"] * 2
