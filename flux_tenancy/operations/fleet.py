"""Runs a command for all stacks of a fleet: in waves, a bounded number at once.

Each stack is updated by `flux-tenancy up`, as by hand. A run that was stopped goes on where it was: a stack is left out
if it was done in that run and would apply the same render again. Once all are done, the next run updates all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from flux_tenancy.components.cluster.client import ClusterUnavailable, read_facts
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.stack.files.names import StackName
from flux_tenancy.operations.drift_search import find_drift
from flux_tenancy.operations.fleet_file import FILE, Fleet, Wave
from flux_tenancy.operations.pulumi_cli import run_pulumi
from flux_tenancy.operations.recorded_state import read_recorded
from flux_tenancy.operations.stack_cluster import connect_described, recorded_cluster
from flux_tenancy.operations.tenant_overview import Health, StackOverview, read_overview, said_of
from flux_tenancy.project.errors import OperationError, invalid
from flux_tenancy.review.render.digests import DIGESTS
from flux_tenancy.review.render.stack import render_stack

FOLDER = ".fleet"
"""The folder of the project with the output of each stack's last update, and the progress of a run."""
_PROGRESS = "progress.json"
_COMMAND = (sys.executable, "-m", "flux_tenancy.command")
_POLL_SECONDS = 5.0
_NOT_READY = (Health.FAILED, Health.RECONCILING, Health.ABSENT)
# The render replaces parts of Pulumi's SDK, for all threads.
_rendering = threading.Lock()


class State(StrEnum):
    """How far a stack is in a run."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "done before"
    NOT_READY = "not ready"
    FAILED = "failed"


_ENDED_WELL = (State.DONE, State.SKIPPED)


@dataclass(frozen=True)
class Row:
    """One stack in a run.

    Attributes:
        wave: name of its wave.
        stack: its name.
        state: how far it is.
        seconds: how long it took.
        found: numbers that were found, by what is counted.
        message: why it has failed, or what is not ready; on one line.
    """

    wave: str
    stack: str
    state: State = State.WAITING
    seconds: float = 0.0
    found: Mapping[str, int] = field(default_factory=dict)
    message: str = ""


Act = Callable[[Row], Row]
"""Does something for a stack, and returns its row with what has come of it."""
Show = Callable[[Sequence[Row]], None]
"""Shows all rows, whenever one has changed."""


class Run:
    """A run over a fleet.

    Attributes:
        rows: each stack with how far it is, in the order of the fleet.
    """

    def __init__(self, fleet: Fleet, show: Show) -> None:
        self._fleet, self._show = fleet, show
        self.rows = {stack: Row(wave, stack) for stack, wave in fleet.wave_of.items()}

    @property
    def succeeded(self) -> bool:
        """Whether every stack is done."""
        return all(each.state in _ENDED_WELL for each in self.rows.values())

    def everywhere(self, act: Act) -> None:
        """Do something for all stacks, whether or not it fails for some."""
        self._do(list(self.rows), act, stops=False)

    def by_wave(self, act: Act, settle: Callable[[Sequence[Row]], Iterator[Row]]) -> None:
        """Do something wave by wave; nothing more is started after a stack that has failed or does not get ready.

        Args:
            act: what to do for a stack.
            settle: yields the rows of a wave again as they become ready, or do not in time.
        """
        for wave in self._fleet.waves:
            self._do(wave.stacks, act, stops=True)
            if self._ended_well(wave):
                for row in settle([self.rows[stack] for stack in wave.stacks]):
                    self._put(row)
            if not self._ended_well(wave):
                return

    def _ended_well(self, wave: Wave) -> bool:
        return all(self.rows[stack].state in _ENDED_WELL for stack in wave.stacks)

    def _do(self, stacks: Iterable[str], act: Act, *, stops: bool) -> None:
        waiting, running = list(stacks), set[Future[Row]]()
        failed = False
        with ThreadPoolExecutor(self._fleet.parallel) as pool:
            while running or (waiting and not failed):
                while waiting and not failed and len(running) < self._fleet.parallel:
                    row = replace(self.rows[waiting.pop(0)], state=State.RUNNING)
                    self._put(row)
                    running.add(pool.submit(_timed, act, row))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    self._put(each.result())
                    failed = failed or (stops and each.result().state not in _ENDED_WELL)

    def _put(self, row: Row) -> None:
        self.rows[row.stack] = row
        self._show(list(self.rows.values()))


def _timed(act: Act, row: Row) -> Row:
    """Act for a stack; an error that the user can correct is its result."""
    begin = time.monotonic()
    try:
        row = act(row)
    except OperationError as error:
        row = replace(row, state=State.FAILED, message=said_of(error))
    except ClusterUnavailable as error:
        row = replace(row, state=State.FAILED, message=printable(str(error)))
    return replace(row, seconds=round(time.monotonic() - begin, 1))


class Progress:
    """The stacks that are done in a run, each with the digest of its render; kept in a file, which outlives a kill."""

    def __init__(self, project: Path) -> None:
        self._file = project / FOLDER / _PROGRESS
        self._lock = threading.Lock()
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        self.done: dict[str, str] = found if isinstance(found, dict) else {}

    def note(self, stack: str, digest: str) -> None:
        """Note that a stack is done."""
        with self._lock:
            self.done[stack] = digest
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(self.done), encoding="utf-8")
            new.replace(self._file)

    def forget(self) -> None:
        """Forget the run, since all of it is done."""
        self._file.unlink(missing_ok=True)


def update_fleet(fleet: Fleet, project: Path, show: Show, approved: Path | None = None) -> Run:
    """Update all stacks, wave by wave.

    Args:
        fleet: the fleet.
        project: folder of the Pulumi project.
        show: shows the rows.
        approved: folder of the approved renders, as `flux-tenancy review render` writes it; None leaves out the check.

    Raises:
        OperationError: a stack is unknown to Pulumi, or its cluster is not its own; nothing was started.
    """
    check_clusters(fleet, project)
    folder = project / FOLDER
    folder.mkdir(exist_ok=True)
    progress, digests = Progress(project), dict[str, str]()

    def act(row: Row) -> Row:
        with _rendering:
            try:
                digests[row.stack] = render_stack(project, row.stack).digest
            except ConfigurationError as error:
                return replace(row, state=State.FAILED, message=printable(str(error)))
        if progress.done.get(row.stack) == digests[row.stack]:
            return replace(row, state=State.SKIPPED)
        name = StackName.parse(row.stack).stack
        return _update(row, project, folder / f"{name}.log", approved / name / DIGESTS if approved else None)

    def settle(rows: Sequence[Row]) -> Iterator[Row]:
        # Their clusters were checked before.
        look = partial(read_overview, project=project, violations=None, connecting=connect_described)
        for row in _settle(rows, look, seconds(fleet.ready_timeout)):
            if row.state in _ENDED_WELL:
                progress.note(row.stack, digests[row.stack])
            yield row

    run = Run(fleet, show)
    run.by_wave(act, settle)
    if run.succeeded:
        progress.forget()
    return run


def _update(row: Row, project: Path, log: Path, approved: Path | None) -> Row:
    options = ["--approved", str(approved.absolute())] if approved else []
    with log.open("w", encoding="utf-8") as out:
        command = [*_COMMAND, "up", "--stack", row.stack, "--yes", *options]
        done = subprocess.run(command, cwd=project, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return replace(row, state=State.DONE)
    said = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if "error: " in line]
    reason = said[0].strip() if said else f"`flux-tenancy up` ended with {done.returncode}"
    return replace(row, state=State.FAILED, message=f"{printable(reason)}; see {FOLDER}/{log.name}")


def _settle(rows: Sequence[Row], look: Callable[[str], StackOverview], timeout: float) -> Iterator[Row]:
    """The rows of a wave as their tenants become ready; after the timeout, those whose tenants are not."""
    deadline = time.monotonic() + timeout
    left = {row.stack: row for row in rows}
    while left:
        looked = {stack: ready_row(row, look(stack)) for stack, row in left.items()}
        late = time.monotonic() >= deadline
        for stack, row in looked.items():
            if row.state is not State.NOT_READY or late:
                del left[stack]
                yield row
        if left:
            time.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))


def ready_row(row: Row, overview: StackOverview) -> Row:
    """The row of an updated stack, by how its tenants are."""
    waiting = [each for each in overview.tenants if each.health in _NOT_READY]
    found = {"tenants": len(overview.tenants), "ready": len(overview.tenants) - len(waiting)}
    if overview.error:
        return replace(row, state=State.NOT_READY, message=overview.error)
    if waiting:
        said = f"{waiting[0].name} is {waiting[0].health}{f': {waiting[0].message}' if waiting[0].message else ''}"
        return replace(row, state=State.NOT_READY, found=found, message=said)
    return replace(row, found=found)


def preview_fleet(fleet: Fleet, project: Path, show: Show) -> Run:
    """Count what `pulumi preview` of each stack would change.

    Raises:
        OperationError: a stack is unknown to Pulumi, or its cluster is not its own.
    """
    check_clusters(fleet, project)

    def act(row: Row) -> Row:
        steps = json.loads(run_pulumi(["preview", "--json"], row.stack, project))["steps"]
        counted = Counter(_VERBS.get(step["op"], step["op"]) for step in steps if step["op"] in _VERBS)
        return replace(row, state=State.DONE, found=dict(sorted(counted.items())))

    return _run_everywhere(fleet, act, show)


_VERBS = {"create": "create", "update": "update", "replace": "replace", "delete": "delete", "import": "import"}


def drift_of_fleet(fleet: Fleet, project: Path, show: Show) -> Run:
    """Count what differs from each stack, by the way in which it does."""

    def act(row: Row) -> Row:
        recorded = read_recorded(row.stack, project)
        if not recorded.objects:
            return replace(row, state=State.DONE, message="not applied yet")
        found, _ = find_drift(recorded, row.stack, project)
        counted = dict(Counter(each.what.value for each in found.differences))
        unread = f"not compared: {', '.join(found.unread)}" if found.unread else ""
        return replace(row, state=State.DONE, found=counted, message=printable(unread))

    return _run_everywhere(fleet, act, show)


def status_of_fleet(fleet: Fleet, project: Path, show: Show) -> Run:
    """Count the tenants that are ready in each stack."""
    return _run_everywhere(
        fleet,
        lambda row: ready_row(replace(row, state=State.DONE), read_overview(row.stack, project, None)),
        show,
    )


def _run_everywhere(fleet: Fleet, act: Act, show: Show) -> Run:
    run = Run(fleet, show)
    run.everywhere(act)
    return run


def as_json(run: Run) -> str:
    """For programs: every stack with its wave, state, numbers and message."""
    return json.dumps({"succeeded": run.succeeded, "stacks": [asdict(each) for each in run.rows.values()]}, indent=2)


def check_clusters(fleet: Fleet, project: Path) -> None:
    """Check that each stack has a cluster of its own, and the one that its state is of.

    A cluster that does not answer is left to its stack's own update.

    Raises:
        OperationError: with every stack that does not.
    """

    def read(stack: str) -> tuple[str, str]:
        """Identity of the cluster that the kubeconfig leads to, and of that of the last update; empty if unknown."""
        recorded = recorded_cluster(stack, project)
        try:
            uid = read_facts(connect_described(stack, project)).uid
        except ClusterUnavailable:
            uid = ""
        return uid, recorded

    stacks = list(fleet.wave_of)
    with ThreadPoolExecutor(fleet.parallel) as pool:
        found = dict(zip(stacks, pool.map(read, stacks), strict=True))
    if problems := list(cluster_problems(found)):
        raise invalid(*problems)


def cluster_problems(clusters: Mapping[str, tuple[str, str]]) -> Iterator[Problem]:
    """Stacks that share a cluster, or whose state is of another one.

    Args:
        clusters: of each stack, the identity of the cluster and of that in its state; empty if unknown.
    """
    first: dict[str, str] = {}
    for stack, (uid, known) in clusters.items():
        if uid and uid in first:
            said = Message(
                "FT-OPS-370",
                f"stacks {first[uid]} and {stack} lead to the same cluster, {uid}",
                "correct cluster.kubeconfig or cluster.context of one of them",
            )
            yield Problem(FILE, f"stack {stack}", said)
        elif uid and known and uid != known:
            said = Message(
                "FT-OPS-371",
                f"stack {stack} leads to cluster {uid}, but its state is of cluster {known}",
                "correct its cluster.kubeconfig or cluster.context, or select its own backend",
            )
            yield Problem(FILE, f"stack {stack}", said)
        first.setdefault(uid, stack)
