"""The kinds of decryption keys behind one interface: create, read from the stack, and name by the public half."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.operations.yaml_edits import Keys


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
        read: reads the keys in a text, newest first; its ValueError repeats nothing of the text.
        generate: creates a key for the named owner.
    """

    name: str
    public_name: str
    secret: Keys
    public: Keys
    option: str
    read: Callable[[str], list[SopsKey]]
    generate: Callable[[str], SopsKey]

    def joined(self, keys: list[SopsKey]) -> str:
        """The keys as one text, in their order."""
        return "".join(f"{key.private.strip()}\n" for key in keys)


def _of_age(identity: age_keys.AgeIdentity) -> SopsKey:
    return SopsKey(identity.private, identity.recipient)


def _of_openpgp(key: openpgp_keys.OpenPgpKey) -> SopsKey:
    return SopsKey(key.private, key.fingerprint)


def _age(name: str, post_quantum: bool) -> KeyKind:
    return KeyKind(
        name=name,
        public_name="Recipient",
        secret=("age", "identities"),
        public=("age", "recipients"),
        option="age",
        read=lambda text: [_of_age(identity) for identity in age_keys.read_identities(text)],
        generate=lambda _: _of_age(age_keys.generate(post_quantum)),
    )


AGE = _age("age identity", post_quantum=False)
POST_QUANTUM = _age("post-quantum age identity", post_quantum=True)
OPENPGP = KeyKind(
    name="OpenPGP key",
    public_name="Fingerprint",
    secret=("openpgp", "privateKeys"),
    public=("openpgp", "fingerprints"),
    option="pgp",
    read=lambda text: [_of_openpgp(key) for key in openpgp_keys.read_private_keys(text)],
    generate=lambda owner: _of_openpgp(openpgp_keys.generate(owner)),
)


def kind_of(public: str) -> KeyKind:
    """The kind of the key with this public half."""
    return AGE if public.startswith(age_keys.RECIPIENT) else OPENPGP
