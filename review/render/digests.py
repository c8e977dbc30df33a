"""Digests of a render: of all of it, which reviewers approve, and of each object, to tell what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from flux_tenancy.review.render.rendered import Render

DIGESTS = "digest.json"
"""The file with the digests of a render and of each of its objects."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

Digest = Annotated[str, StringConstraints(pattern=rf"^{_DIGEST.pattern}$")]


class Digests(BaseModel):
    """What identifies a render, as its file `digest.json` has it.

    Attributes:
        stack: name of the stack.
        digest: of the whole render.
        objects: of each object, by its path below the stack's folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stack: str
    digest: Digest
    objects: Mapping[str, Digest]

    @classmethod
    def of(cls, render: Render) -> Digests:
        """The digests of a render."""
        return cls(
            stack=render.stack,
            digest=render.digest,
            objects={str(each.path): each.digest for each in render.objects},
        )

    def as_json(self) -> str:
        """The content of `digest.json`: the same text on every machine."""
        return json.dumps(self.model_dump(), indent=2, sort_keys=True) + "\n"


def is_digest(text: str) -> bool:
    """Whether a text is a whole digest, `sha256:` with 64 hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


def differences(approved: Digests, found: Digests) -> list[str]:
    """What differs from an approved render, one line an object, in the order of their paths.

    Args:
        approved: the digests that were approved.
        found: those of what would be applied.
    """
    lines = []
    for path in sorted({*approved.objects, *found.objects}):
        before, after = approved.objects.get(path), found.objects.get(path)
        if before != after:
            word = "added" if before is None else "removed" if after is None else "changed"
            lines.append(f"{word} {path}")
    return lines
