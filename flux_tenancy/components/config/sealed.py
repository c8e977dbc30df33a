"""Stand-ins for secrets that stay encrypted, for reading a stack without its passphrase.

Only `components.stack.files.secrets` makes them. They are recognized by their type and not by their text, so nothing
in a file can pass for one.
"""

from __future__ import annotations

import hashlib
import hmac

from pydantic import SecretStr


class SealedText(str):
    """The text that stands for a secret: where it is, and a digest of its encrypted form.

    Attributes:
        digest: the keyed digest, 16 hexadecimal digits; it changes whenever the value is encrypted again.
    """

    digest: str

    @classmethod
    def of(cls, key: str, encrypted: str, salt: str) -> SealedText:
        """The stand-in for a value.

        Args:
            salt: what belongs to this stack's encryption alone, so that digests of two stacks cannot be compared.
        """
        digest = hmac.new(salt.encode(), f"{key}\n{encrypted}".encode(), hashlib.sha256).hexdigest()[:16]
        sealed = cls(f"<encrypted {key} {digest}>")
        sealed.digest = digest
        return sealed

    @property
    def public_half(self) -> str:
        """What stands for the public half of a sealed private key."""
        return f"<public half of {self[1:]}"


def is_sealed(secret: SecretStr) -> bool:
    """Whether a secret of the configuration is a stand-in."""
    return isinstance(secret.get_secret_value(), SealedText)
