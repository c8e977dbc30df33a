"""Processes that keep running after the command that started them, and that a later command finds again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from dev.lab.errors import LabError
from dev.lab.files import make_folder, write_file
from dev.lab.log_reason import reason

LOOPBACK = "127.0.0.1"

Command = tuple[str, ...]
"""Program and arguments."""

_LOG_LIMIT = 10 * 1024 * 1024
"""Bytes of a log; a longer one is renamed to ``<log>.1`` at the next start."""

_LINE_LIMIT = 300
"""Characters of a log line in an error."""

_POLL_INTERVAL = 0.1
"""Seconds between two checks whether a daemon is ready."""

_PATIENCE = 0.25
"""Fraction of the timeout after which a daemon is restarted that was already running but is not ready."""

_EXEC_INTERVAL = 0.001
"""Seconds between two checks whether a process has a command line."""

_PORT_GRACE = 2.0
"""Seconds for which the kernel may keep the port of a killed process."""

_KILL_TIMEOUT = 5.0
"""Seconds to wait for the end of a killed process."""

_CLOCK_TOLERANCE = 2.0
"""Seconds by which a process's create time may vary: Linux derives it from a boot time in whole seconds."""

_MARK = "LAB_DAEMON"
"""Environment variable of a daemon with the path of its pid file."""

GARBAGE_COLLECTION = {"GOGC": "300", "GOMEMLIMIT": "1GiB"}
"""Go programs collect garbage whenever the heap has doubled: a quarter of an API server's CPU time.

Here it may be four times as large as what is in use, up to the limit.
Source: https://go.dev/doc/gc-guide
"""

_INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_INHERITED_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def base_environment() -> dict[str, str]:
    """The part of the user's environment for the lab's processes: paths and network settings, no secrets."""
    return {name: os.environ[name] for name in (*_INHERITED, *_INHERITED_PROXIES) if name in os.environ}


@dataclass(frozen=True)
class Daemon:
    """A process that keeps running after the command that started it, in its own session.

    Its pid file also has the process's create time, so that a later process with the same id is not mistaken for it.

    Attributes:
        name: its name in messages, e.g. ``staging/kube-apiserver``; ends with the name of its program.
        log: file for its output.
        pid_file: file with its process id.
        ports: TCP ports on 127.0.0.1 that it listens on.
        ready: returns a true value if it is ready; called repeatedly after the start.
        stop_timeout: seconds between SIGTERM and SIGKILL.
    """

    name: str
    log: Path
    pid_file: Path
    ports: tuple[int, ...] = ()
    ready: Callable[[], object] = lambda: True
    stop_timeout: float = 15.0

    def process(self) -> psutil.Process | None:
        """The running process, or None."""
        return self._recorded() or self._unrecorded()

    def runs(self, command: Command) -> bool:
        """Whether it runs with exactly this program and arguments."""
        process = self.process()
        with contextlib.suppress(psutil.NoSuchProcess):
            return process is not None and tuple(process.cmdline()) == command
        return False

    def start(self, command: Command) -> None:
        """Start the process and write its pid file, without waiting until it is ready.

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
                    env=base_environment() | GARBAGE_COLLECTION | {_MARK: str(self.pid_file)},
                    start_new_session=True,
                )
        except OSError as error:
            raise LabError(
                f"cannot start {self.name}: {error.filename or command[0]}: {error.strerror}",
                "run `make tools` to build what is missing, and make the log's folder writable",
            ) from error
        try:
            process = psutil.Process(child.pid)
            self._record(process, begin)
            _wait_for_command(process)
        except psutil.NoSuchProcess:
            pass  # it has exited, which the caller notices while waiting
        except BaseException:
            child.kill()
            raise

    def stop(self) -> None:
        """Stop the process, kill it after the timeout, and kill the child processes that it leaves."""
        process = self.process()
        if process is not None:
            _end(process, self.stop_timeout)
        self.pid_file.unlink(missing_ok=True)

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log, truncated if they are long; empty if there is no log."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(line[:_LINE_LIMIT] for line in text.splitlines()[-lines:])

    def log_reason(self) -> str | None:
        """The reason in the log why the last process exited or does not get ready; None if there is none."""
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
        """The process of a command that was killed before it wrote the pid file; the file is written now."""
        marked = _with_variable(_MARK, str(self.pid_file))
        found = [process for process in marked if self._runs_program(process) and _is_running(process)]
        # Child processes of a daemon may inherit its variable; the daemon is the oldest.
        oldest = min(found, key=psutil.Process.create_time, default=None)
        if oldest is not None:
            self._record(oldest)
        return oldest

    def _runs_program(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, IndexError):
            return self.name.endswith(Path(process.cmdline()[0]).name)
        return False

    def _record(self, process: psutil.Process, log: int = 0) -> None:
        """Write the pid file.

        Args:
            log: bytes of the log from earlier processes.
        """
        record = {"pid": process.pid, "created": process.create_time(), "log": log}
        write_file(self.pid_file, json.dumps(record))

    def _log_begin(self) -> int:
        """Offset in the log at which the last process was started."""
        try:
            begin = json.loads(self.pid_file.read_text())["log"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return begin if isinstance(begin, int) else 0

    def _rotate_log(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))


def _with_variable(name: str, value: str) -> Iterator[psutil.Process]:
    """The processes with this environment variable.

    Each start and stop of a daemon looks for them; psutil would take twice as long to read all processes of a machine.
    """
    wanted = f"{name}={value}".encode()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            if folder.name.isdecimal() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield psutil.Process(int(folder.name))


def _is_running(process: psutil.Process) -> bool:
    """Whether the process is still running; one that has exited is reaped if it is a child."""
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            return True
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(timeout=0)
    return False


def _wait_for_command(process: psutil.Process) -> None:
    """Wait until a process that has just been started has a command line.

    Popen returns as soon as Linux has closed the descriptors for the new program, a moment before its command line can
    be read. Until then the process would be mistaken for another one.
    """
    while _is_running(process) and not process.cmdline():
        time.sleep(_EXEC_INTERVAL)


def _end(process: psutil.Process, timeout: float) -> None:
    """Stop a process, then kill its remaining descendants."""
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
    """Wait for the end of a process; a zombie that no init process reaps has ended too."""
    deadline = time.monotonic() + timeout
    while _is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_INTERVAL / 5)
    return True


def check_ports(daemons: Iterable[Daemon]) -> None:
    """Check that all ports of daemons are free before these are started.

    Raises:
        LabError: ports are in use; with the daemon that needs each port and the process that uses it.
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
        "stop that process, or set LAB_PORT_BASE to the start of a free range of ports",
    )


def is_free(port: int) -> bool:
    """Whether a server can listen on a port of 127.0.0.1."""
    with socket.socket() as probe:
        # As servers do, so that connections of a server that has just stopped do not block its port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _listeners() -> dict[int, str]:
    """The listening process of each port, if the user may see it."""
    holders: dict[int, str] = {}
    with contextlib.suppress(psutil.AccessDenied):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    name = psutil.Process(connection.pid).name()
                    holders[connection.laddr.port] = f"{name} (pid {connection.pid})"
    return holders


def bring_up(stages: Sequence[Mapping[Daemon, Command]], timeout: float) -> list[Daemon]:
    """Start daemons that are not running, stage by stage, each stage after the previous one is ready.

    A daemon that runs with another command is restarted, and so is one that was already running but does not get
    ready, such as a server whose database was unavailable for long. Nothing is started unless all ports are free.

    Args:
        stages: daemons that start together and their commands, in the order of the stages.
        timeout: seconds for all stages; extended by a fraction for each daemon that is restarted as not ready.

    Returns:
        The daemons that this call started.

    Raises:
        LabError: a port is in use, or a daemon cannot be started, exits or is not ready in time. If no daemon was
            running before, those that this call started are stopped again.
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
                # The daemons that it needs are ready at this point.
                waits.setdefault(late, now)
                if late not in started and now - waits[late] > timeout * _PATIENCE:
                    late.stop()
                    deadline += timeout * _PATIENCE
                elif now > deadline:
                    raise _failure(late, f"{late.name} is not ready after {now - begin:.0f} s")
                time.sleep(_POLL_INTERVAL)
    except BaseException:
        if len(missing) == len(commands):
            stop_all(started)
        raise
    return started


def stop_all(daemons: Sequence[Daemon]) -> None:
    """Stop daemons in the reverse order of their start."""
    for daemon in reversed(daemons):
        daemon.stop()


def _first_not_ready(
    daemons: Sequence[Daemon], commands: Mapping[Daemon, Command], started: list[Daemon]
) -> Daemon | None:
    """The first daemon that is not ready, after starting those that are not running.

    Each daemon is started only once, but this may be late: one that was running may exit because another one did.
    """
    for daemon in daemons:
        if daemon.process() is None:
            if daemon in started:
                raise _failure(daemon, f"{daemon.name} exited while the lab was waiting for it")
            started.append(daemon)
            daemon.start(commands[daemon])
    return next((daemon for daemon in daemons if not daemon.ready()), None)


def _failure(daemon: Daemon, sentence: str) -> LabError:
    why = daemon.log_reason()
    return LabError(
        f"{sentence}{f': {why}' if why else ''}; the end of {daemon.log}:\n{daemon.log_tail()}",
        "fix the error in the log and run the same command again, which continues from here; `make stop` first restarts"
        " all processes, and only `make down` deletes the state",
    )
