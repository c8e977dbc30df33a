"""Which Flux versions this program knows and which Kubernetes versions each of them supports."""

from __future__ import annotations

REPOSITORY = "https://github.com/fluxcd/flux2"
"""Where Flux is released, each version with its changelog."""

# Flux (major, minor) -> the oldest Kubernetes (major, minor) that it supports.
# Source: `flux check --pre` of each release (cmd/flux/check.go).
OLDEST_KUBERNETES: dict[tuple[int, int], tuple[int, int]] = {(2, 9): (1, 33)}


def minor(version: str) -> tuple[int, int]:
    """(major, minor) of `2.9.5` or of an API server's `v1.36.3-eks-1234`."""
    major, minor_part = version.removeprefix("v").split(".")[:2]
    return int(major), int(minor_part.rstrip("+"))


def known_versions() -> str:
    """For messages: `2.9.x`."""
    return ", ".join(f"{major}.{minor_part}.x" for major, minor_part in sorted(OLDEST_KUBERNETES))
