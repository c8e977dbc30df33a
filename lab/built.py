"""Prints the path of a tool that is built already: ``python -m lab.built offline-admission``.

Prints nothing if it is not, or if this cannot be known since Go is missing: the caller can do without it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lab.build import built
from lab.errors import LabError
from lab.settings import Settings


def _main(name: Annotated[str, typer.Argument(help="name of the tool")]) -> None:
    """Print the path of a tool, if it is built."""
    try:
        found = built(Settings.load(), name)
    except LabError:
        found = None
    print(found or "")


if __name__ == "__main__":
    typer.run(_main)
