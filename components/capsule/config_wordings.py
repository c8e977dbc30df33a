"""What is said about the `capsule` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_CAPSULE_VERSION = Wording("FT-CFG-800", "is not a Capsule release", "write it like 0.14.0")
UNSUPPORTED_CAPSULE_VERSION = Wording("FT-CFG-801", "is not a supported version of Capsule", "use {supported}")
TWO_CHARTS = Wording("FT-CFG-802", "needs url or bundle, not both")
