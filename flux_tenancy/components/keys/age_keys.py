"""Keys of age: identities, which decrypt, and recipients, which are public and encrypt.

Source: https://age-encryption.org/v1; the hybrid post-quantum ones of age 1.3, which kustomize-controller decrypts with
since 1.9 (Flux 2.9): https://github.com/FiloSottile/age/blob/v1.3.1/pq.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import pyrage
from pydantic import SecretStr

from flux_tenancy.components.config.errors import TWICE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.types import SealedText, secret, unshown
from flux_tenancy.components.keys import armor
from flux_tenancy.components.keys.armor import InvalidKeyError

IDENTITY = "AGE-SECRET-KEY-1"
POST_QUANTUM_IDENTITY = "AGE-SECRET-KEY-PQ-1"
RECIPIENT = "age1"
POST_QUANTUM_RECIPIENT = "age1pq1"

# No library here derives or checks these; Flux does. The length tells a copy that was cut off.
_POST_QUANTUM_IDENTITY = re.compile(POST_QUANTUM_IDENTITY + "[02-9AC-HJ-NP-Z]{58}")
_POST_QUANTUM_RECIPIENT = re.compile(POST_QUANTUM_RECIPIENT + "[02-9ac-hj-np-z]{1952}")


@dataclass(frozen=True)
class AgeIdentity:
    """One identity.

    Attributes:
        private: the identity itself, `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…`.
        recipient: its public half, `age1…` or `age1pq1…`; empty for a post-quantum one, until `with_recipients`.
    """

    private: str = field(repr=False)
    recipient: str


def generate() -> AgeIdentity:
    """A new identity, from the system's random source."""
    return _classic(str(pyrage.x25519.Identity.generate()))


def read_identities(text: str) -> tuple[AgeIdentity, ...]:
    """The identities of an identity file: one on each line; empty lines and comments are ignored.

    A sealed file counts as one identity. Raises InvalidKeyError: the text is anything else, or lists an identity twice.
    """
    if isinstance(text, SealedText):
        return (AgeIdentity(text, text.public_half),)
    found: dict[str, AgeIdentity] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        identity = _read(line.strip(), number)
        if identity.private in found:
            raise InvalidKeyError(TWICE(what=f"the age identity of line {number}"))
        found[identity.private] = identity
    if not found:
        raise _no_identity("a list of age identities")
    return tuple(found.values())


def with_recipients(identities: Sequence[AgeIdentity], recipients: Sequence[str]) -> tuple[AgeIdentity, ...]:
    """The identities, each post-quantum one with the recipient that the stack lists at its place, if it does."""
    listed = [each if each.startswith(POST_QUANTUM_RECIPIENT) else "" for each in recipients]
    pairs = zip(identities, [*listed, *[""] * len(identities)], strict=False)
    return tuple(each if each.recipient else replace(each, recipient=recipient) for each, recipient in pairs)


def check_recipients(identities: Iterable[AgeIdentity]) -> None:
    """Check that the recipient of each is known.

    Raises:
        InvalidKeyError: that of a post-quantum one is not listed at its place.
    """
    for place, identity in enumerate(identities, start=1):
        if not identity.recipient:
            raise InvalidKeyError(
                Message(
                    "FT-CFG-709",
                    f"has no post-quantum recipient at place {place}, where the identities have one",
                    "list there what `age-keygen -y` prints for it",
                )
            )


def identity_file(identities: tuple[AgeIdentity, ...]) -> str:
    """The identities as one text, in their order, one on each line."""
    return "".join(f"{identity.private}\n" for identity in identities)


def read_recipient(text: str) -> str:
    """A recipient, without surrounding spaces.

    Raises:
        InvalidKeyError: the text is anything else, above all an identity.
    """
    recipient = text.strip()
    if recipient.upper().startswith("AGE-SECRET-KEY-"):
        raise InvalidKeyError(armor.EXPOSED(public="the recipient (age1…) of another one"))
    try:
        complete = (
            _POST_QUANTUM_RECIPIENT.fullmatch(recipient) is not None
            or str(pyrage.x25519.Recipient.from_str(recipient)) == recipient
        )
    except pyrage.RecipientError:
        complete = False
    if not complete:
        raise InvalidKeyError(armor.DAMAGED(what="age recipient, which begins with age1"))
    return recipient


def _read(line: str, number: int) -> AgeIdentity:
    try:
        if _POST_QUANTUM_IDENTITY.fullmatch(line):
            return AgeIdentity(line, "")
        if line.startswith((IDENTITY, POST_QUANTUM_IDENTITY)):
            return _classic(line)
    except pyrage.IdentityError:
        raise InvalidKeyError(armor.DAMAGED(what=f"age identity in line {number}")) from None
    raise _no_identity(f"an age identity in line {number}")


def _no_identity(what: str) -> InvalidKeyError:
    instead = "one of `flux-tenancy key sops`, which begins with AGE-SECRET-KEY-1"
    return InvalidKeyError(armor.NOT_A_KEY(what=what, instead=instead))


def _classic(private: str) -> AgeIdentity:
    return AgeIdentity(private, str(pyrage.x25519.Identity.from_str(private).to_public()))


AgeIdentities = Annotated[
    SecretStr, *secret(lambda text: identity_file(read_identities(text)), "secret age identities")
]
AgeRecipient = Annotated[str, *unshown(read_recipient, "an age recipient, which begins with age1")]
