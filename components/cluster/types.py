"""Types of the `cluster` section."""

from __future__ import annotations

from typing import Annotated

from components.cluster.config_wordings import NOT_A_UID
from components.config.types import matching

ClusterUid = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        NOT_A_UID,
    ),
]
