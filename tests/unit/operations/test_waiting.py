"""A command that works for long says so on a terminal, and prints nothing else into pipes and logs."""

from __future__ import annotations

import io
import sys
import time

import pytest

from flux_tenancy.project import errors as module
from flux_tenancy.project.errors import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def soon(monkeypatch) -> None:
    monkeypatch.setattr(module, "_QUIET_SECONDS", 0.05)
    monkeypatch.setenv("TERM", "xterm")


def shown(monkeypatch, stderr: io.StringIO, seconds: float) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    with waiting("Reading eu-1"):
        time.sleep(seconds)
    return stderr.getvalue()


def test_a_terminal_shows_what_takes_long_and_is_left_clean(monkeypatch):
    text = shown(monkeypatch, Terminal(), 0.3)

    assert "Reading eu-1 …" in text
    # The line is erased, and the cursor visible again.
    assert text.rstrip().endswith("\x1b[2K") and "\x1b[?25h" in text


def test_a_short_command_and_a_pipe_show_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), 0) == ""
    assert shown(monkeypatch, io.StringIO(), 0.3) == ""


def test_an_error_passes_through(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())

    with pytest.raises(ValueError, match="refused"), waiting("Reading eu-1"):
        raise ValueError("refused")
