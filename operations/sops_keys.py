"""The two kinds of keys that decrypt, seen alike: made, read out of the stack, and called by their public halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from components.keys import age_keys, openpgp_keys


@dataclass(frozen=True)
class SopsKey:
    """One key.

    Attributes:
        private: what is stored, encrypted.
        public: what it is called by: recipient or fingerprint.
    """

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True)
class KeyKind:
    """One kind.

    Attributes:
        name: in words.
        public_name: what its public half is called.
        secret: key below `decryption` that holds the private halves.
        public: key below `decryption` that lists the public halves.
        option: what the command line of `sops` calls it by.
        read: the keys of a text, newest first; raises a ValueError that repeats nothing of it.
        generate: makes a new key for whom is named.
    """

    name: str
    public_name: str
    secret: str
    public: str
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
        secret="age.identities",
        public="age.recipients",
        option="age",
        read=lambda text: [_of_age(identity) for identity in age_keys.read_identities(text)],
        generate=lambda _: _of_age(age_keys.generate(post_quantum)),
    )


AGE = _age("age identity", post_quantum=False)
POST_QUANTUM = _age("post-quantum age identity", post_quantum=True)
OPENPGP = KeyKind(
    name="OpenPGP key",
    public_name="Fingerprint",
    secret="openpgp.privateKeys",
    public="openpgp.fingerprints",
    option="pgp",
    read=lambda text: [_of_openpgp(key) for key in openpgp_keys.read_private_keys(text)],
    generate=lambda owner: _of_openpgp(openpgp_keys.generate(owner)),
)


def kind_of(public: str) -> KeyKind:
    """The kind of a key that is called by this public half."""
    return AGE if public.startswith(age_keys.RECIPIENT) else OPENPGP
