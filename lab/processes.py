"""Processes that outlive the command that started them, and that a later command finds again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.errors import LabError
from lab.files import make_folder, write_file
from lab.log_reason import reason

LOOPBACK = "127.0.0.1"

Command = tuple[str, ...]
"""Program and arguments."""

_LOG_LIMIT = 10 * 1024 * 1024
"""Bytes of a log after which a start keeps it as ``<log>.1`` and begins a new one."""

_LINE_LIMIT = 300
"""Characters of a line of a log that an error shows."""

_POLL_INTERVAL = 0.1
"""Seconds between two looks at a daemon that is not ready yet."""

_PATIENCE = 0.25
"""Part of the time for a start that a daemon which ran before gets to be ready by itself; then it is started again."""

_EXEC_INTERVAL = 0.001
"""Seconds between two looks at a process that the kernel is about to run."""

_PORT_GRACE = 2.0
"""Seconds for which the kernel may keep the port of a process that has just been killed."""

_KILL_TIMEOUT = 5.0
"""Seconds that the kernel gets to clear up a killed process."""

_CLOCK_TOLERANCE = 2.0
"""Seconds by which a process's create time may shift: Linux counts it from a boot time in whole seconds."""

_MARK = "LAB_DAEMON"
"""Environment variable of a daemon that holds the path of its pid file."""

_INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_INHERITED_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def base_environment() -> dict[str, str]:
    """What a process of the lab gets of the user's environment: ways to tools and the network, no secrets."""
    return {name: os.environ[name] for name in (*_INHERITED, *_INHERITED_PROXIES) if name in os.environ}


@dataclass(frozen=True)
class Daemon:
    """A process that runs on after the command that started it, in a session of its own.

    It is found again by its pid file, which holds the process's create time beside its id, so that another
    process that got the same id later is never taken for it.

    Attributes:
        name: how people call it, e.g. ``staging/kube-apiserver``; ends with the name of its program.
        log: file that gets its output.
        pid_file: where its id is kept.
        ports: TCP ports on 127.0.0.1 that it listens on.
        ready: whether it does its work; asked again and again after the start.
        stop_timeout: seconds between asking it to stop and killing it.
    """

    name: str
    log: Path
    pid_file: Path
    ports: tuple[int, ...] = ()
    ready: Callable[[], bool] = lambda: True
    stop_timeout: float = 15.0

    def process(self) -> psutil.Process | None:
        """The running process, or None."""
        return self._recorded() or self._unrecorded()

    def runs(self, command: Command) -> bool:
        """Whether it runs with just this program and arguments (those of another version or port differ)."""
        process = self.process()
        with contextlib.suppress(psutil.NoSuchProcess):
            return process is not None and tuple(process.cmdline()) == command
        return False

    def start(self, command: Command) -> None:
        """Start the process and remember it; returns at once.

        Raises:
            LabError: the program or the log file cannot be opened.
        """
        make_folder(self.log.parent)
        self._rotate_log()
        begin = self.log.stat().st_size if self.log.exists() else 0
        try:
            with self.log.open("ab") as log:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=base_environment() | {_MARK: str(self.pid_file)},
                    start_new_session=True,
                )
        except OSError as error:
            raise LabError(
                f"cannot start {self.name}: {error.filename or command[0]}: {error.strerror}",
                "run `make tools` to build what is missing, and see that the log's folder can be written",
            ) from error
        try:
            process = psutil.Process(child.pid)
            self._record(process, begin)
            _await_command(process)
        except psutil.NoSuchProcess:
            pass  # gone already: whoever waits for it sees that, and shows the log
        except BaseException:
            child.kill()
            raise

    def stop(self) -> None:
        """Ask the process to stop, kill it after the timeout and what it leaves behind, and forget it."""
        process = self.process()
        if process is not None:
            _end(process, self.stop_timeout)
        self.pid_file.unlink(missing_ok=True)

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log, long ones cut; empty if there is none."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(line[:_LINE_LIMIT] for line in text.splitlines()[-lines:])

    def log_reason(self) -> str | None:
        """Why the process that was started last has ended or does not get ready, as far as its log says so."""
        try:
            with self.log.open("rb") as log:
                log.seek(self._log_begin())
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return None
        found = reason(lines)
        return found[:_LINE_LIMIT] if found else None

    def _recorded(self) -> psutil.Process | None:
        try:
            record = json.loads(self.pid_file.read_text())
            process = psutil.Process(record["pid"])
            same = abs(process.create_time() - record["created"]) <= _CLOCK_TOLERANCE
        except (OSError, ValueError, KeyError, TypeError, psutil.NoSuchProcess):
            return None
        return process if same and _is_running(process) else None

    def _unrecorded(self) -> psutil.Process | None:
        """The process of a command that was killed before it wrote the pid file; it is recorded now."""
        found = [process for process in psutil.process_iter() if self._is_marked(process) and _is_running(process)]
        # What a daemon starts may inherit its mark; the daemon itself is the oldest.
        oldest = min(found, key=psutil.Process.create_time, default=None)
        if oldest is not None:
            self._record(oldest)
        return oldest

    def _is_marked(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, IndexError):
            program = Path(process.cmdline()[0]).name
            return self.name.endswith(program) and process.environ().get(_MARK) == str(self.pid_file)
        return False

    def _record(self, process: psutil.Process, log: int = 0) -> None:
        """Write the pid file.

        Args:
            log: bytes of the log that are of earlier processes.
        """
        record = {"pid": process.pid, "created": process.create_time(), "log": log}
        write_file(self.pid_file, json.dumps(record))

    def _log_begin(self) -> int:
        """Where the log of the process that was started last begins."""
        try:
            begin = json.loads(self.pid_file.read_text())["log"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return begin if isinstance(begin, int) else 0

    def _rotate_log(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))


def _is_running(process: psutil.Process) -> bool:
    """Whether the process still does something; one that has ended is reaped if it is our child."""
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            return True
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(timeout=0)
    return False


def _await_command(process: psutil.Process) -> None:
    """Wait until a process that has just been started can be told by its command.

    Linux lets Popen go on as soon as it has closed the descriptors for the new program, a moment before that
    program's command line can be read. Whoever looked in between would take the process for another one.
    """
    while _is_running(process) and not process.cmdline():
        time.sleep(_EXEC_INTERVAL)


def _end(process: psutil.Process, timeout: float) -> None:
    """Stop a process, then what is left of the processes that it had started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        descendants = process.children(recursive=True)
        process.terminate()
        if not _ends_within(process, timeout):
            descendants.insert(0, process)
        for left in descendants:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
                _ends_within(left, _KILL_TIMEOUT)


def _ends_within(process: psutil.Process, timeout: float) -> bool:
    """Wait for the end of a process; one that nobody reaps, for want of an init, has ended too."""
    deadline = time.monotonic() + timeout
    while _is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_INTERVAL / 5)
    return True


def check_ports(daemons: Iterable[Daemon]) -> None:
    """Make sure that all ports of daemons that are about to start are free.

    Raises:
        LabError: naming every port that is taken, which daemon wants it and who holds it.
    """
    wanted = [(port, daemon) for daemon in daemons for port in daemon.ports]
    deadline = time.monotonic() + _PORT_GRACE
    while taken := [(port, daemon) for port, daemon in wanted if not is_free(port)]:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_INTERVAL)
    else:
        return
    holders = _listeners()
    complaints = [
        f"port {port}, which {daemon.name} needs, is in use by {holders.get(port, 'another process')}"
        for port, daemon in taken
    ]
    raise LabError(
        "; ".join(complaints),
        "stop that process, or set LAB_PORT_BASE to the first of a free range of ports",
    )


def is_free(port: int) -> bool:
    """Whether a server could listen on a port of 127.0.0.1 now."""
    with socket.socket() as probe:
        # As servers do: connections of a server that has just stopped do not keep its port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _listeners() -> dict[int, str]:
    """Who listens on which port, as far as the user may see."""
    holders: dict[int, str] = {}
    with contextlib.suppress(psutil.AccessDenied):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    name = psutil.Process(connection.pid).name()
                    holders[connection.laddr.port] = f"{name} (pid {connection.pid})"
    return holders


def bring_up(stages: Sequence[Mapping[Daemon, Command]], timeout: float) -> list[Daemon]:
    """Start what does not run, stage after stage, each when the one before is ready.

    A daemon that runs with another command is replaced, and so is one that ran before and does not get ready, as a
    server may whose database was away for long. Nothing is started unless all ports are free.

    Args:
        stages: daemons that start together and their commands, in the order of the stages.
        timeout: seconds for all of it, and a part of them more for each daemon that is replaced for not being ready.

    Returns:
        The daemons that this call started.

    Raises:
        LabError: a port is taken, or a daemon cannot be started, ends or is not ready in time. What this call started
            is stopped again if nothing ran before; what it has repaired stays.
    """
    commands = {daemon: command for stage in stages for daemon, command in stage.items()}
    missing = [daemon for daemon, command in commands.items() if not daemon.runs(command)]
    stop_all(missing)
    check_ports(missing)
    begin = time.monotonic()
    deadline = begin + timeout
    started: list[Daemon] = []
    reached: list[Daemon] = []
    waits: dict[Daemon, float] = {}
    try:
        for stage in stages:
            reached += stage
            while late := _first_not_ready(reached, commands, started):
                now = time.monotonic()
                # Those that it needs are ready by then.
                waits.setdefault(late, now)
                if late not in started and now - waits[late] > timeout * _PATIENCE:
                    late.stop()
                    deadline += timeout * _PATIENCE
                elif now > deadline:
                    raise _failed(late, f"{late.name} is not ready after {now - begin:.0f} s")
                time.sleep(_POLL_INTERVAL)
    except BaseException:
        if len(missing) == len(commands):
            stop_all(started)
        raise
    return started


def stop_all(daemons: Sequence[Daemon]) -> None:
    """Stop daemons in the reverse of the order in which they are started."""
    for daemon in reversed(daemons):
        daemon.stop()


def _first_not_ready(
    daemons: Sequence[Daemon], commands: Mapping[Daemon, Command], started: list[Daemon]
) -> Daemon | None:
    """The first daemon to wait for, after starting those that do not run.

    Each is started once, be it late: one that ran before may end because another one has ended.
    """
    for daemon in daemons:
        if daemon.process() is None:
            if daemon in started:
                raise _failed(daemon, f"{daemon.name} stopped while the lab waited for it")
            started.append(daemon)
            daemon.start(commands[daemon])
    return next((daemon for daemon in daemons if not daemon.ready()), None)


def _failed(daemon: Daemon, sentence: str) -> LabError:
    why = daemon.log_reason()
    return LabError(
        f"{sentence}{f': {why}' if why else ''}; the end of {daemon.log}:\n{daemon.log_tail()}",
        "put right what the log says and run the same command again, which goes on from here; `make stop` before it"
        " starts all processes anew, and only `make down` deletes what is there",
    )
