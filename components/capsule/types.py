"""Types of the `capsule` section."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import SEMANTIC_VERSION, matching

CapsuleVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, Message("FT-CFG-800", "is not a Capsule release", "write it like 0.14.0"))
]
