"""Types of the `cluster` section. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

from typing import Annotated

from components.config.types import matching

ClusterUid = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        "a uid; take it from `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`",
    ),
]
