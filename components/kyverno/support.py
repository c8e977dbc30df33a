"""Which Kyverno versions this program knows."""

from __future__ import annotations

REPOSITORY = "https://github.com/kyverno/kyverno"
"""Where Kyverno is released, each version with its changelog."""

# Names of webhook configurations, chart values and policy types are checked for these (major, minor).
KNOWN_MINORS = ((1, 19),)


def known_versions() -> str:
    """For messages: `1.19.x`."""
    return ", ".join(f"{major}.{minor}.x" for major, minor in KNOWN_MINORS)
