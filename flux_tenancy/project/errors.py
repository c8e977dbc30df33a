"""How the commands report an error that the user can correct, in two lines and not as a traceback, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from flux_tenancy.components.config.errors import ConfigurationError, Problem, coded
from flux_tenancy.components.config.messages import Message


class OperationError(Exception):
    """An error that the user can correct.

    Attributes:
        message: one sentence that names the file, tenant or stack, and what to do next.
        problems: what is wrong, each with what to do and its code.
    """

    def __init__(self, message: Message, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems) or (coded(message),)

    @property
    def report(self) -> str:
        """What a command prints: the error, and the remedy on a line of its own."""
        return f"error: {coded(self.message.sentence)}\nremedy: {self.message.remedy}"


def invalid(*problems: Problem) -> OperationError:
    """The error of a file that is not valid; it shows the codes of the problems themselves."""
    return _listing([str(each) for each in problems], all(each.code for each in problems))


def _listing(problems: Sequence[str], have_codes: bool) -> OperationError:
    """The error with these problems; its own code would only repeat theirs."""
    whole = Message("FT-OPS-001", f"{_list(problems)}", "correct it and run the command again")
    return OperationError(Message("", whole.text, whole.remedy) if have_codes else whole, problems)


@contextmanager
def reading_files() -> Iterator[None]:
    """Raise an OperationError for what is wrong in the project's files, or with their names."""
    try:
        yield
    except ConfigurationError as error:
        raise invalid(*error.problems) from None


@contextmanager
def writing(path: Path, remedy: str = "name another path") -> Iterator[None]:
    """Raise an OperationError if a file, or one in a folder, cannot be written."""
    try:
        yield
    except OSError as error:
        raise OperationError(Message("FT-REV-205", f"{path} cannot be written: {error.strerror}", remedy)) from None


def run_all(checks: Iterable[Callable[[], object]]) -> None:
    """Run all checks, even if one of them fails.

    Raises:
        OperationError: that of the check that has failed, or one with all their problems.
    """
    errors = []
    for check in checks:
        try:
            check()
        except OperationError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise _listing(list(dict.fromkeys(each for error in errors for each in error.problems)), have_codes=True)


def _list(problems: Sequence[str]) -> str:
    """One problem as it is, several in a line each."""
    if len(problems) == 1:
        return problems[0]
    return "\n  ".join([f"{len(problems)} errors:", *problems])


def check_one_owner(tenant: str, platform: bool, command: str) -> None:
    """Check that a command is called for either a tenant or the platform.

    Args:
        tenant: name of the tenant, or empty.
        platform: whether it is called for the platform.

    Raises:
        OperationError: it is called for both, or for neither.
    """
    if bool(tenant) == platform:
        usage = f"run `flux-tenancy {command} TENANT`, or with `--platform` for the platform's own sync"
        raise OperationError(Message("FT-OPS-006", "either a tenant or the platform must be named", usage))


_QUIET_SECONDS = 2.0


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what the command does, below its other output; nothing in a pipe or a log.

    Args:
        what: e.g. `Reading the cluster of staging`. Nothing may be printed to standard output meanwhile.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{what} …")
    timer = Timer(_QUIET_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # A timer that is firing has started the status once it ends.
        timer.join()
        status.stop()
