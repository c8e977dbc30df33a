"""Digests of a render: of all of it, which reviewers approve, and of each object and fact, to tell what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from flux_tenancy.review.render.facts import digest_of
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
        facts: of each fact that decides about an update besides the objects, by its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stack: str
    digest: Digest
    objects: Mapping[str, Digest]
    facts: Mapping[str, Digest] = Field(default_factory=dict)

    @classmethod
    def of(cls, render: Render) -> Digests:
        """The digests of a render."""
        return cls(
            stack=render.stack,
            digest=render.digest,
            objects={str(each.path): each.digest for each in render.objects},
            facts={name: digest_of(value) for name, value in (render.facts or {}).items()},
        )

    def as_json(self) -> str:
        """The content of `digest.json`: the same text on every machine."""
        return json.dumps(self.model_dump(), indent=2, sort_keys=True) + "\n"


def is_digest(text: str) -> bool:
    """Whether a text is a whole digest, `sha256:` with 64 hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


def differences(approved: Digests, found: Digests) -> list[str]:
    """What differs from an approved render, one line a fact and one an object, in the order of their names and paths.

    Args:
        approved: the digests that were approved.
        found: those of what would be applied.
    """
    return [*_differences(approved.facts, found.facts), *_differences(approved.objects, found.objects)]


def _differences(approved: Mapping[str, Digest], found: Mapping[str, Digest]) -> Iterator[str]:
    for name in sorted({*approved, *found}):
        before, after = approved.get(name), found.get(name)
        if before != after:
            word = "added" if before is None else "removed" if after is None else "changed"
            yield f"{word} {name}"
