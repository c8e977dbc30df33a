"""What a change means, as one sentence for its reviewers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """Something that a change means, as a sentence about an owner.

    Attributes:
        owner: the tenant that it is about, or PLATFORM.
        text: plain text without a period. It does not name the stack.
        risk: whether reviewers have to look at it first.
        names_owner: whether the sentence has its own subject, so that it needs no owner in front.
        matters: the way in which the change matters, as `review/changes/risks.yaml` has them; empty for none of these.
    """

    owner: str
    text: str
    risk: bool = False
    names_owner: bool = False
    matters: str = ""
