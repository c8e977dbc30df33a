"""Types of the `cluster` section."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import matching

ClusterUid = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        Message(
            "FT-CFG-180", "is not a uid", "take it from `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`"
        ),
    ),
]
