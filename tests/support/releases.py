"""The releases that the lab builds: tests name a version only where they are about that very version."""

from __future__ import annotations

import re

from tests.support.project import CHECKOUT

_MODULES = CHECKOUT / "lab" / "tools"


def _pinned(module: str) -> str:
    [version] = re.findall(r"github\.com/fluxcd/flux2/v2 v([0-9.]+)$", (_MODULES / module / "go.mod").read_text(), re.M)
    return str(version)


_RELEASES = [_pinned(each.name) for each in _MODULES.glob("flux-*")]
FLUX_VERSION = max(_RELEASES, key=lambda version: [*map(int, version.split("."))])
"""The newest release of Flux that the lab builds."""
FLUX_BUNDLE = f"flux-bundle-{FLUX_VERSION}"
"""The tool that is its bundle of manifests."""
