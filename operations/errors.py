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
    """A command that ends with `error: …` and `remedy: …` where an OperationError is raised.

    Attributes:
        failure: its exit status then.
    """

    failure = 1

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OperationError as error:
            typer.echo(f"error: {error.message}\nremedy: {error.remedy}", err=True)
            raise typer.Exit(self.failure) from error


def check_one_owner(tenant: str, platform: bool, question: str, remedy: str) -> None:
    """Make sure that a command is for a tenant or for the platform, not both and not neither.

    Args:
        tenant: name of the tenant; empty where none is named.
        platform: whether the platform is named.
        question: what is asked where neither is named.
        remedy: how to call the command.

    Raises:
        OperationError: both are named, or neither.
    """
    if bool(tenant) == platform:
        raise OperationError("name one of a tenant and the platform" if tenant else question, remedy)
