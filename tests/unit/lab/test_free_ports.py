import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dev.lab import free_ports
from dev.lab.errors import LabError
from dev.lab.free_ports import free_port_base
from dev.lab.settings import DEFAULT_PORT_BASE, PORTS_OF_A_LAB

CLAIMING = "from dev.lab.free_ports import free_port_base; print(free_port_base({clusters}), flush=True); input()"


def claiming(clusters: int) -> subprocess.Popen[str]:
    """Another process that has chosen ports but does not listen on them yet."""
    command = [sys.executable, "-c", CLAIMING.format(clusters=clusters)]
    root = Path(__file__).parents[3]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def port_of(process: subprocess.Popen[str]) -> int:
    """The first port that such a process has chosen."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_another_lab_gets_free_ports_outside_the_default_range():
    base = free_port_base(clusters=2)
    assert base >= DEFAULT_PORT_BASE + PORTS_OF_A_LAB

    with socket.create_server(("127.0.0.1", base + 29)):
        assert free_port_base(clusters=2) > base
        assert free_port_base(clusters=1) == base


def test_no_free_ports_are_an_error(monkeypatch):
    monkeypatch.setattr(free_ports, "is_free", lambda port: False)

    with pytest.raises(LabError, match="no 20 free ports"):
        free_port_base(clusters=1)


def test_ports_that_another_process_has_chosen_are_not_used():
    with claiming(clusters=10) as other:
        theirs = port_of(other)
        ours = free_port_base(clusters=0)
        other.communicate("")

    assert not theirs <= ours < theirs + 110


def test_the_ports_of_an_ended_process_can_be_used_again():
    with claiming(clusters=0) as other:
        theirs = port_of(other)
        other.communicate("")
    with claiming(clusters=0) as next_one:
        assert port_of(next_one) == theirs
        next_one.communicate("")
