"""Types of the `kyverno` section."""

from __future__ import annotations

from typing import Annotated

from components.config.types import SEMANTIC_VERSION, matching
from components.kyverno.config_wordings import NOT_A_CHART_VERSION, NOT_A_KYVERNO_VERSION

KyvernoVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A_KYVERNO_VERSION)]
ChartVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A_CHART_VERSION)]
