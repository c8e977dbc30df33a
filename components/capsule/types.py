"""Types of the `capsule` section."""

from __future__ import annotations

from typing import Annotated

from components.capsule.config_wordings import NOT_A_CAPSULE_VERSION
from components.config.types import SEMANTIC_VERSION, matching

CapsuleVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A_CAPSULE_VERSION)]
