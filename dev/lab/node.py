"""What the node agent reports about its node, in the conditions of the Node object."""

from __future__ import annotations

from typing import Any

LIMITS_ENFORCED = "LimitsEnforced"
"""Type of the agent's own condition: whether containers are kept within their limits of memory and CPU."""


def is_ready(node: dict[str, Any]) -> bool:
    """Whether pods can run."""
    return _condition(node, "Ready").get("status") == "True"


def unlimited_because(node: dict[str, Any]) -> str | None:
    """Why limits of memory and CPU are not enforced; None if they are."""
    condition = _condition(node, LIMITS_ENFORCED)
    return condition["message"] if condition.get("status") == "False" else None


def _condition(node: dict[str, Any], kind: str) -> dict[str, str]:
    conditions = node["status"].get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == kind), {})
