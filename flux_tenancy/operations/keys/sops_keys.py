"""The kinds of decryption keys behind one interface: create, read from the stack, and name by the public half."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.operations.files.yaml_edits import Keys


@dataclass(frozen=True)
class SopsKey:
    """One key.

    Attributes:
        private: what is stored, encrypted.
        public: its name: the recipient or the fingerprint.
    """

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True)
class KeyKind:
    """One kind.

    Attributes:
        name: what messages call it.
        public_name: what messages call the public half.
        secret: path below `decryption` of the private keys.
        public: path below `decryption` of the list of public halves.
        option: name of the option of `sops`.
        read: reads the keys in a text, newest first, with the public halves that the stack lists; its ValueError
            repeats nothing of the text.
        generate: creates a key for the named owner.
    """

    name: str
    public_name: str
    secret: Keys
    public: Keys
    option: str
    read: Callable[[str, Sequence[str]], list[SopsKey]]
    generate: Callable[[str], SopsKey]

    def joined(self, keys: list[SopsKey]) -> str:
        """The keys as one text, in their order."""
        return "".join(f"{key.private.strip()}\n" for key in keys)


def _of_age(identity: age_keys.AgeIdentity) -> SopsKey:
    return SopsKey(identity.private, identity.recipient)


def _of_openpgp(key: openpgp_keys.OpenPgpKey) -> SopsKey:
    return SopsKey(key.private, key.fingerprint)


def _stored_identities(text: str, recipients: Sequence[str]) -> list[SopsKey]:
    identities = age_keys.with_recipients(age_keys.read_identities(text), recipients)
    age_keys.check_recipients(identities)
    return [_of_age(each) for each in identities]


AGE = KeyKind(
    name="age identity",
    public_name="Recipient",
    secret=("age", "identities"),
    public=("age", "recipients"),
    option="age",
    read=_stored_identities,
    generate=lambda _: _of_age(age_keys.generate()),
)
OPENPGP = KeyKind(
    name="OpenPGP key",
    public_name="Fingerprint",
    secret=("openpgp", "privateKeys"),
    public=("openpgp", "fingerprints"),
    option="pgp",
    read=lambda text, _: [_of_openpgp(key) for key in openpgp_keys.read_private_keys(text)],
    generate=lambda owner: _of_openpgp(openpgp_keys.generate(owner)),
)


def kind_of(public: str) -> KeyKind:
    """The kind of the key with this public half."""
    return AGE if public.startswith(age_keys.RECIPIENT) else OPENPGP
