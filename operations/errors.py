"""How the commands tell what the user can put right: two lines, not a traceback."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand


class OperationError(Exception):
    """Something that the user can put right.

    Attributes:
        message: one sentence that names the file, tenant or stack.
        remedy: what to do next, as an instruction.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}; {remedy}")
        self.message = message
        self.remedy = remedy


class Operation(TyperCommand):
    """A command that ends with `error: …` and `remedy: …` where an OperationError is raised."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OperationError as error:
            typer.echo(f"error: {error.message}\nremedy: {error.remedy}", err=True)
            raise typer.Exit(1) from error
