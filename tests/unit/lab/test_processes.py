import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dev.lab import processes
from dev.lab.errors import LabError
from dev.lab.processes import Command, Daemon, bring_up
from tests.support.lab import eventually

FOREVER = "import time; time.sleep(600)"


def python(code: str) -> Command:
    return (sys.executable, "-c", code)


@pytest.fixture
def daemon(tmp_path):
    """Creates daemons whose processes are stopped after the test."""
    made: list[Daemon] = []

    def make(name: str = "one", **options) -> Daemon:
        # The name of a daemon ends with that of its program.
        name = f"{name}/{Path(sys.executable).name}"
        made.append(Daemon(name, tmp_path / f"{len(made)}.log", tmp_path / f"{len(made)}.pid", **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def taken_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_later_command_finds_the_process_and_stops_it(daemon):
    one = daemon()
    one.start(python(FOREVER))

    again = Daemon(one.name, one.log, one.pid_file)

    process = again.process()
    assert process is not None and process.is_running()
    again.stop()
    assert one.process() is None
    assert not one.pid_file.exists()


def test_another_process_with_the_same_id_is_not_stopped(daemon):
    one = daemon()
    with subprocess.Popen(python(FOREVER)) as stranger:
        created = psutil.Process(stranger.pid).create_time()
        one.pid_file.write_text(json.dumps({"pid": stranger.pid, "created": created - 3600}))

        found = one.process()
        one.stop()

        assert found is None
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "created": 0}', '{"pid": 1}'])
def test_a_damaged_pid_file_is_ignored(daemon, text):
    one = daemon()
    one.pid_file.write_text(text)

    assert one.process() is None


def test_a_process_without_a_pid_file_is_found_by_its_environment(daemon):
    one = daemon()
    one.start(python(FOREVER))
    started = one.process()
    eventually(started.environ)  # empty while the kernel loads the program
    one.pid_file.unlink()

    assert one.process() == started
    assert one.pid_file.exists()


def test_a_child_process_is_not_mistaken_for_the_daemon(daemon):
    one = daemon()
    one.start(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{FOREVER}'])"))
    started = one.process()
    eventually(started.children)
    one.pid_file.unlink()

    assert one.process() == started


def test_a_process_that_ignores_sigterm_is_killed_with_its_children(daemon):
    one = daemon(stop_timeout=0.2)
    child = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
    one.start(
        python(
            "import subprocess, sys, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            f"subprocess.run([sys.executable, '-c', {child!r}])"
        )
    )
    process = one.process()
    eventually(process.children)
    time.sleep(0.3)  # now both ignore the signal
    (descendant,) = process.children()

    one.stop()

    assert one.process() is None
    eventually(lambda: not descendant.is_running())


def test_a_process_gets_no_secrets_from_the_users_environment(daemon, monkeypatch):
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    one = daemon()

    one.start(python("import os; print(*os.environ.items(), sep='\\n', flush=True)"))

    eventually(one.log_tail)
    assert "correct horse" not in one.log.read_text()
    assert "proxy.example" in one.log.read_text()


def test_a_missing_program_is_an_error_with_its_path(daemon):
    with pytest.raises(LabError) as error:
        daemon().start(("/nowhere/etcd",))

    assert "/nowhere/etcd" in error.value.message
    assert "make tools" in error.value.remedy


def test_a_daemon_is_restarted_only_with_another_command(daemon):
    one, command, newer = daemon(), python(FOREVER), python(f"{FOREVER} # newer")
    assert bring_up([{one: command}], timeout=10) == [one]
    process = one.process()

    assert bring_up([{one: command}], timeout=10) == []
    assert one.process() == process

    assert bring_up([{one: newer}], timeout=10) == [one]
    assert one.process() != process
    assert one.runs(newer)


def test_all_ports_in_use_are_reported_with_their_processes_and_nothing_starts(daemon, taken_port, monkeypatch):
    monkeypatch.setattr(processes, "_PORT_GRACE", 0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        first, second = (
            daemon("first", ports=(taken_port,)),
            daemon("second", ports=(other.getsockname()[1],)),
        )

        with pytest.raises(LabError) as error:
            bring_up(
                [{daemon("free"): python(FOREVER), first: python(FOREVER)}, {second: python(FOREVER)}],
                timeout=10,
            )

    assert f"port {taken_port}, which {first.name} needs" in error.value.message
    assert f"which {second.name} needs" in error.value.message
    assert f"(pid {os.getpid()})" in error.value.message
    assert "LAB_PORT_BASE" in error.value.remedy
    assert first.process() is None and second.process() is None


def test_a_daemon_that_exits_is_an_error_with_the_end_of_its_log_and_stops_the_others(daemon):
    healthy, broken = daemon("healthy"), daemon("broken", ready=lambda: False)

    with pytest.raises(LabError) as error:
        bring_up(
            [{healthy: python(FOREVER)}, {broken: python("raise SystemExit('no such flag: --x')")}],
            timeout=10,
        )

    assert broken.name in error.value.message
    assert "no such flag: --x" in error.value.message
    assert str(broken.log) in error.value.message
    assert healthy.process() is None


def test_a_daemon_that_does_not_get_ready_is_an_error_and_stops(daemon):
    slow = daemon("slow", ready=lambda: False)

    with pytest.raises(LabError, match=r"slow/.* is not ready after 0 s"):
        bring_up([{slow: python(FOREVER)}], timeout=0.3)

    assert slow.process() is None


def test_daemons_from_before_a_failed_start_keep_running(daemon):
    before = daemon("before")
    bring_up([{before: python(FOREVER)}], timeout=10)

    with pytest.raises(LabError):
        bring_up([{before: python(FOREVER), daemon("broken"): ("/nowhere/etcd",)}], timeout=10)

    assert before.process() is not None


def test_a_stage_starts_after_the_previous_one_is_ready(daemon):
    asked: list[bool] = []

    def ready() -> bool:
        asked.append(later.process() is None)
        return len(asked) > 3

    later = daemon("later")
    bring_up([{daemon("earlier", ready=ready): python(FOREVER)}, {later: python(FOREVER)}], timeout=10)

    assert all(asked[:4])
    assert later.process() is not None


def test_an_interrupted_start_leaves_nothing_behind(daemon):
    def interrupt() -> bool:
        raise KeyboardInterrupt

    one = daemon(ready=interrupt)

    with pytest.raises(KeyboardInterrupt):
        bring_up([{one: python(FOREVER)}], timeout=10)

    assert one.process() is None
