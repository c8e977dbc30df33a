"""The exit codes of all commands."""

from enum import IntEnum


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
