"""What is said about the `kyverno` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_KYVERNO_VERSION = Wording("FT-CFG-450", "is not a Kyverno release", "write it like 1.19.1")
NOT_A_CHART_VERSION = Wording("FT-CFG-451", "is not a version of Kyverno's chart", "write it like 3.9.1")
UNSUPPORTED_KYVERNO_VERSION = Wording("FT-CFG-452", "is not a supported version of Kyverno", "use {supported}")
ONE_CHART = Wording("FT-CFG-453", "needs exactly one of version, url and bundle")
RESOURCES_WITHOUT_REPORTS = Wording(
    "FT-CFG-454",
    "sets resources of {controller}, which is installed only with reports",
    "set reports to true, or remove them",
)
