"""Modules of later tools are downloaded ahead, and nothing of that outlives or disturbs the build."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from lab.build_downloads import downloading_ahead
from lab.go_command import Go
from lab.tools_table import Room, Tool
from tests.support.lab import eventually

ROOM = Room(compiled=0, kept=0)
TOOLS = [
    Tool(name="one", module="a", package="example.org/one", room=ROOM),
    Tool(name="two", module="a", package="./two", room=ROOM),
    Tool(name="three", module="b", package="./three", room=ROOM),
]
LISTED = [
    "a: list -e -deps example.org/one ./two",
    "b: list -e -deps ./three",
]


class FakeGo:
    """A Go command that notes where it was called and with what."""

    def __init__(self, folder: Path) -> None:
        self.modules = folder / "modules"
        for module in ("a", "b"):
            (self.modules / module).mkdir(parents=True)
        self.log = folder / "log"
        self._program = folder / "go"
        self.then("true")

    def then(self, command: str) -> None:
        self._program.write_text(f'#!/bin/sh\necho "$(basename "$PWD"): $*" >> {self.log}\n{command}\n')
        self._program.chmod(0o755)

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return FakeGo(tmp_path)


@pytest.fixture
def go(fake: FakeGo, tmp_path: Path) -> Go:
    return Go(tmp_path / "cache", tmp_path / "work")


@pytest.mark.parametrize("outcome", ["true", "exit 1"])
def test_each_module_is_listed_once_with_all_its_tools_whatever_comes_of_it(fake: FakeGo, go: Go, outcome: str) -> None:
    fake.then(outcome)

    with downloading_ahead(go, TOOLS, fake.modules):
        eventually(lambda: len(fake.calls()) == 2)

    assert fake.calls() == LISTED


def test_a_build_that_ends_or_fails_first_leaves_no_download_behind(fake: FakeGo, go: Go) -> None:
    fake.then("exec sleep 60")
    begun = time.monotonic()

    with pytest.raises(KeyboardInterrupt), downloading_ahead(go, TOOLS, fake.modules):
        eventually(lambda: bool(fake.calls()))
        raise KeyboardInterrupt

    assert time.monotonic() - begun < 30
    assert fake.calls() == LISTED[:1]
    assert [child for child in psutil.Process().children() if "sleep" in child.cmdline()] == []
