"""Which Capsule versions this program knows."""

from __future__ import annotations

REPOSITORY = "https://github.com/projectcapsule/capsule"
"""Where Capsule is released, each version with its changelog."""

# Chart values, names of generated objects and custom resources are checked for these (major, minor).
KNOWN_MINORS = ((0, 14),)


def known_versions() -> str:
    """For messages: `0.14.x`."""
    return ", ".join(f"{major}.{minor}.x" for major, minor in KNOWN_MINORS)
