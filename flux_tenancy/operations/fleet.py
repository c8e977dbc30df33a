"""`fleet.yaml`, the stacks of a project in waves: for a bounded loop over them, for CI and for Pulumi's operator.

Each stack is updated by `flux-tenancy up`, as by hand. After a failure, run it again: what is done does not change.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import typer
from pydantic import Field, ValidationError

from flux_tenancy.components.cluster.client import ClusterUnavailable, read_facts
from flux_tenancy.components.config.errors import Problem, dotted
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration, seconds
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.stack.files.project import StackName
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.stack.connected import connect_to
from flux_tenancy.operations.tenants.overview import Health, read_overview, said_of
from flux_tenancy.project.described_stack import described_stacks
from flux_tenancy.project.errors import OperationError, invalid, reading_files, run_all
from flux_tenancy.review.render.rendered import DIGESTS

FILE = "fleet.yaml"
FOLDER = ".fleet"
"""The folder of the project with the output of each stack's last update."""
OPERATOR_NAME_LIMIT = 42  # The operator appends to a Stack's name. Source: docs of pulumi-kubernetes-operator 2
_COMMAND = (sys.executable, "-m", "flux_tenancy.command")
_POLL_SECONDS = 5.0


class Wave(Section):
    """Stacks that are updated at the same time."""

    name: DnsLabel = Field(description="Name of the wave.")
    stacks: tuple[str, ...] = Field(
        min_length=1, description="Names of its stacks, with organization and project if the backend needs them."
    )


class Fleet(Section):
    """The file `fleet.yaml`."""

    waves: tuple[Wave, ...] = Field(min_length=1, description="The waves in their order.")
    parallel: int = Field(4, ge=1, le=100, description="How many stacks of a wave run at the same time.")
    ready_timeout: Duration = Field("10m", description="How long the tenants of a stack may take to become ready.")


def read_fleet(project: Path) -> Fleet:
    """The file in the project's folder; raises OperationError with every problem of it."""
    document = read_mapping(project / FILE, FILE)
    if isinstance(document, Problem):
        raise invalid(document)
    try:
        fleet = Fleet.model_validate(document)
    except ValidationError as error:
        # Below a key that no stack has, so that no key of a stack is suggested.
        found = [(each["loc"], message(each | {"loc": (FILE, *each["loc"])}, True)) for each in error.errors()]
        raise invalid(*(Problem(FILE, dotted(path), said) for path, said in found)) from None
    with reading_files():
        stacks = [StackName.parse(stack) for wave in fleet.waves for stack in wave.stacks]
    names = [wave.name for wave in fleet.waves], [each.stack for each in stacks]
    twice = [name for several in names for name, times in Counter(several).items() if times > 1]
    missing = [each for each in stacks if each.stack not in described_stacks(project)]
    problems = [
        *(Message("FT-CFG-871", f"{each!r} is listed twice", "remove or rename one of the two") for each in twice),
        *(Message("FT-CFG-872", f"stack {each.stack!r} has no {each.file}", "correct the name") for each in missing),
    ]
    if problems:
        raise invalid(*(Problem(FILE, "waves", each) for each in problems))
    return fleet


def ci_matrix(fleet: Fleet) -> dict[str, Any]:
    """The waves as strategies of a workflow's jobs, by name: each job needs that of the wave before."""
    options = {"fail-fast": True, "max-parallel": fleet.parallel}
    return {wave.name: options | {"matrix": {"stack": [*wave.stacks]}} for wave in fleet.waves}


def operator_stacks(fleet: Fleet, project: str, organization: str, repository: str, branch: str) -> Iterator[Manifest]:
    """Stacks of Pulumi's operator, each after those of the wave before; `organization` owns those without an owner."""
    before: list[Manifest] = []
    for wave in fleet.waves:
        stacks = {operator_name(project, each.stack): each for each in map(StackName.parse, wave.stacks)}
        for name, each in stacks.items():
            owned = f"{each.organization or organization}/{project}/{each.stack}"
            spec = {"stack": owned, "projectRepo": repository, "branch": branch, "destroyOnFinalize": False}
            spec |= {"prerequisites": before} if before else {}
            metadata = {"name": name, "labels": {"flux-tenancy/wave": wave.name}}
            yield {"apiVersion": "pulumi.com/v1", "kind": "Stack", "metadata": metadata, "spec": spec}
        before = [{"name": name} for name in stacks]


def operator_name(project: str, stack: str) -> str:
    """The name of a stack's object: a DNS label of at most OPERATOR_NAME_LIMIT characters, different for each stack."""
    plain = f"{project}-{stack}"
    name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    if name == plain and len(name) <= OPERATOR_NAME_LIMIT:
        return name
    mark = sha256(plain.encode()).hexdigest()[:8]
    return f"{name[: OPERATOR_NAME_LIMIT - len(mark) - 1].rstrip('-')}-{mark}"


@dataclass(frozen=True)
class StackRow:
    """One stack in a run: `waiting`, `done`, `not ready` or `failed`, with what was counted, and the reasons."""

    wave: str
    stack: str
    state: str = "waiting"
    seconds: float = 0.0
    found: Mapping[str, int] = field(default_factory=dict)
    message: str = ""

    def __str__(self) -> str:
        counted = ", ".join(f"{count} {what}" for what, count in self.found.items())
        parts = (f"{self.state} ({self.seconds:.1f} s)", counted, self.message)
        return f"{self.wave} {self.stack}: {'; '.join(filter(None, parts))}"


def run(fleet: Fleet, act: Callable[[StackRow], StackRow]) -> list[StackRow]:
    """Do something for all stacks, wave by wave; start nothing more after a stack that is not done."""
    stopped = threading.Event()

    def attempt(row: StackRow) -> StackRow:
        if stopped.is_set():
            return row
        begin = time.monotonic()
        try:
            row = act(row)
        except OperationError as error:
            row = replace(row, state="failed", message=said_of(error))
        if row.state != "done":
            stopped.set()
        row = replace(row, seconds=round(time.monotonic() - begin, 1))
        typer.echo(row, err=True)
        return row

    rows: list[StackRow] = []
    for wave in fleet.waves:
        with ThreadPoolExecutor(fleet.parallel) as pool:
            rows += pool.map(attempt, [StackRow(wave.name, stack) for stack in wave.stacks])
    return rows


def update_fleet(fleet: Fleet, project: Path, approved: Path | None) -> list[StackRow]:
    """Run `flux-tenancy up` for each stack, and wait until its tenants are ready; raises as `check_clusters`.

    Args:
        approved: folder of the approved renders, as `flux-tenancy review render` writes it; None leaves out the check.
    """
    check_clusters(fleet, project)
    (project / FOLDER).mkdir(exist_ok=True)

    def act(row: StackRow) -> StackRow:
        name = StackName.parse(row.stack).stack
        options = ["--approved", str((approved / name / DIGESTS).absolute())] if approved else []
        if reasons := update_stack(row.stack, options, project, Path(FOLDER, f"{name}.log")):
            return replace(row, state="failed", message=reasons)
        deadline = time.monotonic() + seconds(fleet.ready_timeout)
        while (ready := stack_row(row, project)).state != "done" and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return ready

    return run(fleet, act)


def check_clusters(fleet: Fleet, project: Path) -> None:
    """Raises OperationError with all stacks whose cluster is not theirs alone; one that does not answer is left out."""
    owners: dict[str, str] = {}

    def check(stack: str) -> None:
        with suppress(ClusterUnavailable):
            if (owner := owners.setdefault(read_facts(connect_to(stack, project)).uid, stack)) != stack:
                said = f"stacks {owner} and {stack} lead to the same cluster"
                raise OperationError(Message("FT-OPS-370", f"{said}", "correct cluster.kubeconfig or cluster.context"))

    with ThreadPoolExecutor(fleet.parallel) as pool:
        run_all([pool.submit(check, stack).result for wave in fleet.waves for stack in wave.stacks])


def update_stack(stack: str, options: list[str], project: Path, log: Path) -> str:
    """Run `flux-tenancy up` with its output in a file below the project; returns why it fails, if it does."""
    command = [*_COMMAND, "up", "--stack", stack, "--yes", *options]
    with (project / log).open("w", encoding="utf-8") as out:
        done = subprocess.run(command, cwd=project, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return ""
    lines = (line.strip() for line in (project / log).read_text(encoding="utf-8", errors="replace").splitlines())
    said = dict.fromkeys(printable(line) for line in lines if line.startswith("error: "))
    return "; ".join([*said, f"exit code {done.returncode}, see {log}"])


def stack_row(row: StackRow, project: Path) -> StackRow:
    """The row of a stack by how its tenants are."""
    overview = read_overview(row.stack, project, None)
    if overview.error:
        return replace(row, state="not ready", message=overview.error)
    late = [each for each in overview.tenants if each.health in (Health.FAILED, Health.RECONCILING, Health.ABSENT)]
    found = {"tenants": len(overview.tenants), "ready": len(overview.tenants) - len(late)}
    said = "; ".join(f"{each.name} is {each.health}{f': {each.message}' if each.message else ''}" for each in late)
    return replace(row, state="not ready" if late else "done", found=found, message=said)
