"""The folder in which commands keep what they build and install."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CACHE_VARIABLE = "FLUX_TENANCY_CACHE"


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder; None if neither the variable nor a home folder says where it is."""
    home = environ.get("XDG_CACHE_HOME") or (Path(environ["HOME"], ".cache") if "HOME" in environ else None)
    own = environ.get(CACHE_VARIABLE) or (Path(home, "flux-tenancy") if home else None)
    return Path(own) if own else None
