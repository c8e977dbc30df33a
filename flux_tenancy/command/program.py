"""How the whole program ends: one error in two lines, and one table of exit codes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from enum import IntEnum
from inspect import cleandoc
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup, TyperOption


class ExitCode(IntEnum):
    """One meaning for each code, as `git diff --exit-code` and `kubectl diff` have it.

    Attributes:
        OK: the command did its work.
        FOUND: the command did its work and found something: a violated rule, an attempt that passed, a deletion that
            nobody has acknowledged; for reports such as `drift show`, only with `--exit-code`.
        FAILED: the command could not do its work: wrong arguments, invalid files, an unreachable cluster.
        INTERRUPTED: the user has interrupted it.
    """

    OK = 0
    FOUND = 1
    FAILED = 2
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.FOUND: "the command found something, such as drift or a violated rule; reports only with --exit-code",
    ExitCode.FAILED: "the command failed: wrong arguments, invalid files, or an unreachable cluster",
    ExitCode.INTERRUPTED: "interrupted",
}


class _GroupOption(TyperOption):
    """An option of a group, which stays None if it is not given.

    typer converts None, too, and imports pydantic for that, which takes longer than the rest of `--help`.
    """

    def process_value(self, ctx: Any, value: Any) -> Any:
        return None if value is None else super().process_value(ctx, value)


class Group(TyperGroup):
    """A group of commands whose help, and whose commands' help, imports nothing that only a command needs."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for each in params:
            each.__class__ = _GroupOption
        return params


class Program(Group):
    """The root of all groups: no command ends with a traceback for what the user can correct."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        prepare(self)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command as typer does, and end the process with its exit code unless `standalone_mode` is off.

        Python's garbage collector does not run meanwhile. A command soon ends, and the collector would look at
        everything that was imported again and again, for a tenth of the time of a render.
        """
        ends_process, options["standalone_mode"] = options.get("standalone_mode", True), False
        collects = gc.isenabled()
        gc.disable()
        try:
            ended = super().main(*args, **options)
        except Exception as error:
            lines = _lines(error)
            if lines is None:
                raise
            if lines:
                typer.echo(lines, err=True)
            ended = ExitCode.FAILED if lines else ExitCode.OK
        finally:
            if collects:
                gc.enable()
        if ends_process:
            sys.exit(ended if isinstance(ended, int) else ExitCode.OK)
        return ended


def prepare(command: Any) -> None:
    """Prepare a command, and all below it.

    Joins the lines of each paragraph of its help: typer keeps those of the docstring. Completion calls no callback of
    an option, which would read the project's files.
    """
    paragraphs = cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(each if each[:1].isspace() else " ".join(each.split()) for each in paragraphs)
    for each in command.params:
        if each.callback is not None:
            each.callback = _unless_completing(each.callback)
    for each in getattr(command, "commands", {}).values():
        prepare(each)


def _unless_completing(callback: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda context, param, value: value if context.resilient_parsing else callback(context, param, value)


def _lines(error: Exception) -> str | None:
    """What to print for an error that the user can correct; empty for none, and None for a fault of the program."""
    # typer brings a click of its own, whose exceptions have no public name.
    if type(error).__name__ == "Abort":
        return "aborted"
    if type(error).__name__ == "NoArgsIsHelpError":  # A group alone, which has shown its help.
        return ""
    if hasattr(error, "format_message"):
        return _usage(error)
    from flux_tenancy.components.config.errors import ConfigurationError
    from flux_tenancy.project.errors import OperationError

    if isinstance(error, OperationError):
        return error.report
    if isinstance(error, ConfigurationError):
        return f"error: {error}"
    if isinstance(error, OSError) and error.filename is not None:
        from flux_tenancy.components.config.errors import reason_of
        from flux_tenancy.components.config.messages import Message, printable

        unusable = Message("FT-CMD-008", f"{printable(str(error.filename))}: {reason_of(error)}", "make it accessible")
        return OperationError(unusable).report
    return None


def _usage(error: Any) -> str:
    """An error in the arguments, with the command whose help says more."""
    from flux_tenancy.components.config.errors import coded
    from flux_tenancy.components.config.messages import Message, Wording

    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "flux-tenancy"
    # Of a parser of an option's value, it names the error's class as well.
    text = error.format_message().strip().rstrip(".").replace(": Value error, ", ": ")
    usage = Wording("FT-CMD-003", "{problem}", "see `{command} --help`")(
        problem=f"{text[:1].lower()}{text[1:]}", command=path
    )
    return f"error: {coded(Message(usage.code, usage.text))}\nremedy: {usage.remedy}"


def found() -> NoReturn:
    """End the command: it did its work and found something."""
    raise typer.Exit(ExitCode.FOUND)


def failed() -> NoReturn:
    """End the command: it could not do all of its work, and has said so."""
    raise typer.Exit(ExitCode.FAILED)
