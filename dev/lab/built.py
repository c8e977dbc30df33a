"""Finds a tool that is built already.

Finds nothing if it is not, or if this cannot be known since Go is missing: the caller can do without it.
"""

from __future__ import annotations

from pathlib import Path

from dev.lab.build import built
from dev.lab.errors import LabError
from dev.lab.settings import Settings


def find_built(settings: Settings, name: str) -> Path | None:
    """The path of a tool, if it is built."""
    try:
        return built(settings, name)
    except LabError:
        return None
