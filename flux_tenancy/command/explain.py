"""`flux-tenancy explain`: what an error or warning says, by its code."""

from __future__ import annotations

from typing import Annotated

import typer


def explain(
    code: Annotated[str, typer.Argument(metavar="[CODE]", help="Such as FT-CFG-602.", show_default=False)] = "",
) -> None:
    """Explain an error or warning by its code; without a code, list all of them.

    `…` stands for a value.

    Examples:

      flux-tenancy explain FT-CFG-602

      flux-tenancy explain | grep -i quota
    """
    from flux_tenancy.operations.messages import explained

    for message in explained(code):
        typer.echo(f"{message.code}: {message.problem}" + (f"; {message.advice}" if message.advice else ""))
