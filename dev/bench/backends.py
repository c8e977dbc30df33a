"""Where the state is: what updates take with each of Pulumi's backends, and what a killed one loses."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from dev.bench.measure import Sample, checked, measure
from dev.bench.report import Results
from dev.bench.rig import STACK, UPDATE, Rig, repositories, running_rig
from dev.lab.free_ports import free_port_base
from dev.lab.processes import LOOPBACK
from dev.lab.pulumi import CLI
from tests.support.killing import kill_process
from tests.support.lab import eventually
from tests.support.pulumi_cloud import running as running_cloud

FILE, S3, POSTGRESQL, CLOUD = "file", "S3", "PostgreSQL", "Pulumi Cloud"
ALL_THE_TIME, AT_THE_END = "all the time", "at the end"
PROGRAMS = {S3: ("versitygw",), POSTGRESQL: ("initdb", "postgres")}
"""The programs of servers that the lab does not build."""
INSTALL = {S3: "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0", POSTGRESQL: "apt-get install postgresql"}
"""How to install them."""
WAYS = [
    (FILE, AT_THE_END), (FILE, ALL_THE_TIME),
    (S3, AT_THE_END), (S3, ALL_THE_TIME),
    (POSTGRESQL, AT_THE_END), (POSTGRESQL, ALL_THE_TIME),
    (CLOUD, ALL_THE_TIME),
]  # fmt: skip
"""Backends, and when the state is written. Pulumi Cloud gets each change by itself, whatever the setting says."""

STEPS = ("first up", "no change", "one more tenant")

_COLUMNS = {
    "backend": "", "state written": "", "tenants": "d",
    "first up s": ".1f", "×": ".1f", "no change s": ".1f", "one more s": ".1f", "MiB": ".0f", "lost": "d",
}  # fmt: skip
_CREATED = r"created \("
_KILLED_AT, _MORE_TENANTS = 40, 20
_POSTGRESQL = Path("/usr/lib/postgresql")
_START_SECONDS = 30.0

NOTES = (
    "A stack that already has Flux and a tenant, on a cluster of its own for each row: an update that creates the "
    "other tenants, one without a change, and one with a further tenant, without the preview that precedes them.",
    "× compares the first update with that of the first row.",
    "State written all the time: by the engine's default, before and after each object; at the end: "
    "PULUMI_SKIP_CHECKPOINTS, as `flux-tenancy up` sets it.",
    "All servers are on this machine and keep their data on its disk, so there is no time for the way to them. S3 is "
    "versitygw, and Pulumi Cloud the stand-in of this project's tests, which keeps the state in memory.",
    f"lost: objects of the first {_KILLED_AT} that an update has created and not recorded when it is killed with all "
    "its processes. After `pulumi cancel`, the next update succeeds, and the one after it changes nothing.",
    "Flux's controllers are scaled to zero and no sync is waited for.",
)


@dataclass(frozen=True)
class Measured:
    """A backend with a way to write the state.

    Attributes:
        samples: each step of the contest.
        second_user: what another update says while one runs.
        after_kill: what the next update says after one was killed.
        lost: objects that a killed update has created and not recorded.
    """

    backend: str
    written: str
    tenants: int
    samples: Mapping[str, Sample]
    second_user: str
    after_kill: str
    lost: int


def measure_backends(tenants: int, say: Callable[[str], None]) -> Iterator[Measured]:
    """Measure every backend whose programs are installed; raises LabError if a command fails."""
    for backend, written in WAYS:
        if missing := [name for name in PROGRAMS.get(backend, ()) if not _program(name)]:
            say(f"{backend}: left out without {' and '.join(missing)} (`{INSTALL[backend]}`)")
            continue
        with tempfile.TemporaryDirectory(prefix="flux-tenancy-backend-") as folder:
            # A database server refuses to run as root, so its files are another user's.
            Path(folder).chmod(0o755)
            checkpoints = {} if written == AT_THE_END else {"PULUMI_SKIP_CHECKPOINTS": "false"}
            with SERVERS[backend](Path(folder)) as place, running_rig({**UPDATE, **place, **checkpoints}) as rig:
                yield _measured(rig, backend, written, tenants, say)


def _measured(rig: Rig, backend: str, written: str, tenants: int, say: Callable[[str], None]) -> Measured:
    up = partial(rig.pulumi, "up", "--yes", "--skip-preview")
    updates = dict(zip(STEPS, (up, partial(up, "--expect-no-changes"), up), strict=True))
    samples = {}
    # The first tenant waits until the quota controller knows Flux's kinds, with each backend for as long.
    rig.configure(repositories(1))
    checked(up())
    for step, count in zip(STEPS, (tenants, tenants, tenants + 1), strict=True):
        rig.configure(repositories(count))
        samples[step] = measure(updates[step])
        say(f"{backend}, state written {written}: {step} {samples[step].seconds:.1f} s")
    second_user, after_kill, lost = _disturb(rig, tenants)
    say(f"{backend}, state written {written}: {second_user!r}; {after_kill!r}; {lost} objects not in the state")
    return Measured(backend, written, tenants, samples, second_user, after_kill, lost)


def _disturb(rig: Rig, tenants: int) -> tuple[str, str, int]:
    """Run a second update during one, kill this one, and go on.

    Returns:
        What the second update says, what one after the kill says, and the objects that the killed update has created
        and not recorded.
    """
    rig.configure(repositories(tenants + _MORE_TENANTS))
    up = partial(rig.pulumi, "up", "--yes", "--skip-preview")
    before = _recorded(rig)
    second: list[str] = []

    def update_as_well() -> bool:
        second.append(_refusal(up()))
        return True

    command = [str(rig.lab.pulumi.bin / CLI), "up", "--yes", "--skip-preview", "--non-interactive", f"--stack={STACK}"]
    printed = kill_process(rig.lab.pulumi, rig.project, command, _CREATED, update_as_well, nth=_KILLED_AT)
    after = _refusal(up())
    checked(rig.pulumi("cancel", "--yes"))
    created = len(re.findall(_CREATED, printed))
    # What it was creating may be recorded, too.
    lost = max(0, created - (_recorded(rig) - before))
    checked(up())
    checked(up("--expect-no-changes"))
    return second[0], after, lost


def _recorded(rig: Rig) -> int:
    """The number of objects in the state; those of tenants are in a component each, which is none."""
    return sum(not each["type"].endswith(":Tenant") for each in rig.project.exported(STACK))


def _refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The first line of an update's error, without what differs from run to run; empty if it succeeded."""
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")] if done.returncode else []
    return errors[0].removeprefix("error: ") if errors else ""


def results(measured: Sequence[Measured]) -> Results:
    """Every backend compared with the first."""
    rows = []
    first = measured[0].samples[STEPS[0]].seconds
    for each in measured:
        seconds = [each.samples[step].seconds for step in STEPS]
        peak = max(sample.peak_mib for sample in each.samples.values())
        numbers = (seconds[0], seconds[0] / first, *seconds[1:], peak, each.lost)
        values = (each.backend, each.written, each.tenants, *numbers)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    raw = [
        asdict(each) | {"samples": {step: asdict(sample) for step, sample in each.samples.items()}} for each in measured
    ]
    return Results("backends", "Where the state is", _COLUMNS, rows, NOTES, raw)


def _program(name: str) -> str | None:
    """The path of a program; Debian keeps those of PostgreSQL apart."""
    folders = [os.environ.get("PATH", os.defpath), *(str(each) for each in _POSTGRESQL.glob("*/bin"))]
    return shutil.which(name, path=os.pathsep.join(folders))


@contextmanager
def _server(command: Sequence[str], ready: Callable[[], object], **options: Any) -> Iterator[None]:
    """A server process during the block."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as process:
        try:
            eventually(ready, _START_SECONDS, f"{Path(command[0]).name} ready")
            yield
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((LOOPBACK, port)) == 0


@contextmanager
def _file(folder: Path) -> Iterator[Mapping[str, str]]:
    (folder / "backend").mkdir()
    yield {"PULUMI_BACKEND_URL": f"file://{folder / 'backend'}"}


@contextmanager
def _s3(folder: Path) -> Iterator[Mapping[str, str]]:
    bucket, port = folder / "data" / "state", free_port_base(0)
    bucket.mkdir(parents=True)
    access = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": token_hex(16)}
    keys = {"ROOT_ACCESS_KEY": access["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": access["AWS_SECRET_ACCESS_KEY"]}
    command = [str(_program("versitygw")), f"--port={LOOPBACK}:{port}", "posix", str(bucket.parent)]
    place = f"endpoint=http://{LOOPBACK}:{port}&region=us-east-1&disable_https=true&use_path_style=true"
    with _server(command, partial(_listens, port), env=os.environ | keys):
        yield access | {"PULUMI_BACKEND_URL": f"s3://{bucket.name}?{place}"}


@contextmanager
def _postgresql(folder: Path) -> Iterator[Mapping[str, str]]:
    data, port = folder / "data", free_port_base(0)
    data.mkdir()
    # It refuses to run as root.
    user: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(data, "nobody")
    initdb = [str(_program("initdb")), f"--pgdata={data}", "--username=bench", "--auth=trust"]
    checked(subprocess.run(initdb, capture_output=True, text=True, check=False, **user))
    command = [str(_program("postgres")), "-D", str(data), "-h", LOOPBACK, "-p", str(port), "-k", str(data)]
    with _server(command, partial(_listens, port), **user):
        yield {"PULUMI_BACKEND_URL": f"postgres://bench@{LOOPBACK}:{port}/postgres?sslmode=disable"}


@contextmanager
def _cloud(folder: Path) -> Iterator[Mapping[str, str]]:
    with running_cloud() as cloud:
        # The service encrypts secrets, too.
        credentials = {"PULUMI_CREDENTIALS_PATH": str(folder), "PULUMI_CONFIG_PASSPHRASE_FILE": ""}
        yield cloud.environment("alice") | credentials


SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[Mapping[str, str]]]] = {
    FILE: _file,
    S3: _s3,
    POSTGRESQL: _postgresql,
    CLOUD: _cloud,
}
"""The server of each backend in a folder of its own, and the environment of a Pulumi that uses it."""
