"""Types of the `kyverno` section."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import SEMANTIC_VERSION, matching

KyvernoVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, Message("FT-CFG-450", "is not a Kyverno release", "write it like 1.19.1"))
]
ChartVersion = Annotated[
    str,
    *matching(SEMANTIC_VERSION, Message("FT-CFG-451", "is not a version of Kyverno's chart", "write it like 3.9.1")),
]
