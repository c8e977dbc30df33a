"""Time and memory of a command and its child processes, none of which is left running."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import psutil
import pytest

import dev.bench.measure
from dev.bench.measure import measure
from dev.lab.errors import LabError

HOLD_64_MIB = "import time; held = b'x' * 2**26; time.sleep(0.5)"


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_what_a_command_starts_counts_too() -> None:
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD_64_MIB!r}])"
    assert measure(partial(python, nested)).peak_mib > 64


def test_what_ran_before_does_not_count_nor_what_it_starts_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def noted(process: psutil.Process) -> int:
        counted.append(process.pid)
        return 0

    monkeypatch.setattr(dev.bench.measure, "_resident_bytes", noted)
    program = "import subprocess, sys; input(); subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as other:

        def run() -> subprocess.CompletedProcess[str]:
            assert other.stdin is not None
            other.stdin.write(b"\n")
            other.stdin.close()
            return python("import time; time.sleep(0.5)")

        measure(run)
        [started] = psutil.Process(other.pid).children()
        started.kill()
    assert counted and not {other.pid, started.pid} & set(counted)


def test_a_command_that_fails_shows_the_end_of_its_output() -> None:
    with pytest.raises(LabError, match="exited with code 3:\nno such cluster"):
        measure(partial(python, "import sys; print('no such cluster'); sys.exit(3)"))


def test_an_interrupted_command_leaves_nothing_behind() -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupted() -> subprocess.CompletedProcess[str]:
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(timeout=0.3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(interrupted)
    assert started[0].wait(timeout=5) != 0
