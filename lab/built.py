"""Finds a tool that is built already: ``python -m lab.built offline-admission`` prints its path.

Finds nothing if it is not, or if this cannot be known since Go is missing: the caller can do without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.build import built
from lab.errors import LabError
from lab.settings import Settings


def find_built(settings: Settings, name: str) -> Path | None:
    """The path of a tool, if it is built."""
    try:
        return built(settings, name)
    except LabError:
        return None


def _main(name: Annotated[str, typer.Argument(help="name of the tool")]) -> None:
    """Print the path of a tool, if it is built."""
    print(find_built(Settings.load(), name) or "")


if __name__ == "__main__":
    typer.run(_main)
