"""Types of the `kyverno` section. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

from typing import Annotated

from components.config.types import SEMANTIC_VERSION, matching

KyvernoVersion = Annotated[str, *matching(SEMANTIC_VERSION, "a release of Kyverno; write it like 1.19.1")]
ChartVersion = Annotated[str, *matching(SEMANTIC_VERSION, "a version of Kyverno's chart; write it like 3.9.1")]
