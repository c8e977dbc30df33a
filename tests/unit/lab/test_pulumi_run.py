"""The end of a run of `pulumi`, with a shell script instead of the engine."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dev.lab import pulumi_run
from dev.lab.pulumi_run import end, processes
from tests.support.lab import eventually

# A plugin that keeps running after its engine was killed.
ENGINE = """#!/bin/sh
touch "$TMPDIR/kubeconfig"
setsid sleep 600 > /dev/null 2>&1 < /dev/null &
echo "$TMPDIR" "$@"
{then}
"""


class Runs:
    """Runs of a script that stands in for the engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"
        self.engine = folder / "engine"

    def start(self, *arguments: str, then: str = "sleep 600") -> subprocess.Popen[str]:
        self.engine.write_text(ENGINE.format(then=then))
        self.engine.chmod(0o755)
        launcher = [sys.executable, "-I", "-S", pulumi_run.__file__, str(self.engine), str(self.folder)]
        return subprocess.Popen([*launcher, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.fixture
def runs(tmp_path):
    yield Runs(tmp_path)
    end(tmp_path / "runs")


def said(engine: Any) -> str:
    """The next line that an engine prints."""
    line: str = eventually(engine.stdout.readline)
    return line.strip()


def test_a_run_ends_with_its_own_exit_code_and_leaves_nothing(runs):
    engine = runs.start(then="exit 3")
    output, _ = engine.communicate()

    assert engine.returncode == 3
    eventually(lambda: not processes(runs.folder), what="the plugin's end")
    eventually(lambda: not Path(output.strip()).exists(), what="the temporary folder's end")


def test_a_process_that_ignores_sigterm_is_killed(runs, monkeypatch):
    monkeypatch.setattr(pulumi_run, "_GRACE", 0.2)
    engine = runs.start(then="trap '' TERM; echo; while :; do sleep 600; done")
    said(engine)
    eventually(engine.stdout.readline)

    end(runs.folder)

    assert engine.wait(timeout=10) == -signal.SIGKILL


def test_all_runs_of_a_lab_end_and_those_of_another_one_continue(runs, tmp_path):
    other = Runs(tmp_path / "other")
    other.engine.parent.mkdir()
    engines = [each.start() for each in (runs, runs, other)]
    folders = [said(engine) for engine in engines]
    assert len(set(folders)) == 3

    end(runs.folder)

    assert [engine.wait(timeout=10) for engine in engines[:2]] == [-signal.SIGTERM] * 2
    assert processes(runs.folder) == []
    assert engines[2].poll() is None
    end(other.folder)


def test_a_missing_engine_is_an_error_of_two_lines(tmp_path):
    launcher = [sys.executable, "-I", "-S", pulumi_run.__file__, "/nowhere/pulumi", str(tmp_path / "runs")]

    done = subprocess.run(launcher, capture_output=True, text=True, check=False)

    assert done.returncode == 126
    assert done.stderr == (
        "error: cannot run /nowhere/pulumi: No such file or directory\nremedy: `make start` installs it\n"
    )
