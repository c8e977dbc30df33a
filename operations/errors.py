"""How the commands report an error that the user can correct: in two lines, not as a traceback."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from components.config.errors import Problem, coded
from components.config.wordings import Message, Wording
from operations.wordings import INVALID, NO_OWNER, TWO_OWNERS


class OperationError(Exception):
    """An error that the user can correct.

    Attributes:
        message: one sentence that names the file, tenant or stack.
        remedy: what to do next, as an instruction.
        code: the stable code, e.g. `FT-OPS-002`; empty if the error has none.
    """

    def __init__(self, message: str, remedy: str, code: str = "") -> None:
        super().__init__(Message(f"{message}; {remedy}", code))
        self.message = message
        self.remedy = remedy
        self.code = code

    @classmethod
    def of(cls, wording: Wording, **fields: object) -> OperationError:
        """The error with these words and values."""
        return cls(wording.text.format(**fields), wording.remedy.format(**fields), wording.code)


def invalid(*problems: Problem) -> OperationError:
    """The error of a file that is not valid; it shows the codes of the problems themselves."""
    error = OperationError.of(INVALID, problems="; ".join(map(str, problems)))
    return OperationError(error.message, error.remedy) if all(each.code for each in problems) else error


class Operation(TyperCommand):
    """A command that ends with `error: …` and `remedy: …` if an OperationError is raised.

    Attributes:
        failure: its exit status then.
    """

    failure = 1

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OperationError as error:
            typer.echo(f"error: {coded(Message(error.message, error.code))}\nremedy: {error.remedy}", err=True)
            raise typer.Exit(self.failure) from error


def check_one_owner(tenant: str, platform: bool, usage: str) -> None:
    """Check that a command is called for either a tenant or the platform.

    Args:
        tenant: name of the tenant, or empty.
        platform: whether it is called for the platform.
        usage: how to call the command.

    Raises:
        OperationError: it is called for both, or for neither.
    """
    if bool(tenant) == platform:
        raise OperationError.of(TWO_OWNERS if tenant else NO_OWNER, usage=usage)
