"""Many clusters: what `flux-tenancy fleet` takes for stacks that have a cluster each."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import yaml

from dev.bench.measure import Sample, checked, measure
from dev.bench.report import Results
from dev.bench.rig import UsersPulumi, releases, repositories, write_tenants
from dev.lab.cluster import Cluster
from dev.lab.settings import Settings
from flux_tenancy.operations.fleet import FILE, FOLDER
from tests.support.lab import Lab
from tests.support.policy_cases import made
from tests.support.project import Project

TENANTS = 25
"""Tenants of each stack."""
ONE_BY_ONE = "up of each stack"
"""The baseline: `flux-tenancy up` of one stack after the other."""
FIRST, UNCHANGED, ONE_MORE = "first up", "no change", "one more tenant in each"
AT_ONCE = 8
"""Clusters that run at the same time, in 8 GB of memory. With more stacks, each runs only while it is needed."""

NOTES = (
    f"`flux-tenancy fleet` for stacks of {TENANTS} tenants, in waves: one stack, another one, and the others by fours. "
    "Each stack has a cluster of its own, and all have the file backend. Flux, native policies and all tenants are "
    "created by the first up.",
    "Flux runs in each cluster, so a wave ends when Flux has applied every tenant's repository.",
    f"× compares with `{ONE_BY_ONE}`: `flux-tenancy up` of one stack after the other, without a change.",
    f"With more than {AT_ONCE} stacks, a cluster is stopped when the wave after its own begins, and one of a later "
    "wave is started in its place, all within the time measured; only updates are measured.",
    "All clusters, the Git host and the command share the cores of this machine. MiB: the command, with all of "
    "Pulumi's processes.",
)

_ORGANIZATION, _REPOSITORY = "bench", "app"
_POLL_SECONDS = 0.5
_COLUMNS = {"step": "", "stacks": "d", "s": ".1f", "s of one stack": ".1f", "×": ".1f", "MiB": ".0f"}


def measure_fleet(stacks: int, say: Callable[[str], None]) -> dict[str, Sample]:
    """What each step takes for a number of stacks; raises LabError if a command fails."""
    samples = {}
    with _new_fleet(stacks, say) as fleet:
        for step, run in fleet.steps():
            with fleet.clusters_for_its_waves():
                samples[step] = measure(run)
            say(f"{stacks} stacks  {step:<25} {samples[step].seconds:8.1f} s {samples[step].peak_mib:7.0f} MiB")
    return samples


@dataclass(frozen=True)
class _Fleet:
    """A project with a stack for each cluster, which has the stack's name."""

    lab: Lab
    project: Project
    waves: Sequence[Sequence[str]]
    url: str

    def steps(self) -> Iterator[tuple[str, Callable[[], subprocess.CompletedProcess[str]]]]:
        up = partial(self._run, "fleet", "up")
        self.configure(TENANTS)
        yield FIRST, up
        yield UNCHANGED, up
        if self.runs_whole:
            yield ONE_BY_ONE, self._up_one_by_one
        self.configure(TENANTS + 1)
        yield ONE_MORE, up
        if self.runs_whole:
            yield "tenant list", partial(self._run, "tenant", "list", "--no-policies")

    @property
    def stacks(self) -> list[str]:
        return [stack for wave in self.waves for stack in wave]

    @property
    def runs_whole(self) -> bool:
        """Whether all clusters run at the same time."""
        return len(self.stacks) <= AT_ONCE

    @contextmanager
    def clusters_for_its_waves(self) -> Iterator[None]:
        """Run the clusters of the wave that is updated and of the next one."""
        settings, tools = self.lab.settings, self.lab.tools
        _start(settings, tools, self.stacks[:AT_ONCE])
        # A process of its own: memory is measured of what this one starts.
        following = get_context("spawn").Process(
            target=_follow, args=(settings, tools, self.waves, self.project.folder / FOLDER, time.time())
        )
        following.start()
        try:
            yield
        finally:
            following.terminate()
            following.join()
            if not self.runs_whole:
                _stop(settings, self.stacks)

    def configure(self, tenants: int) -> None:
        """Write each stack with this number of tenants, which all have the same repository."""
        names = list(repositories(tenants))
        write_tenants(self.project, dict.fromkeys(names, self.url), "10m", "1h")
        for stack in self.stacks:
            self.project.stack(
                stack,
                cluster={"kubeconfig": str(Cluster(self.lab.settings, stack).kubeconfig)},
                flux=self.lab.bundle(releases(self.lab)["flux"]),
                policies={"engine": "native", "sources": {"plainHttp": True}},
                tenants={name: {"sync": {"path": "."}} for name in names},
            )
        waves = [{"name": f"wave-{number}", "stacks": stacks} for number, stacks in enumerate(self.waves, 1)]
        (self.project.folder / FILE).write_text(yaml.safe_dump({"waves": waves}))

    def _up_one_by_one(self) -> subprocess.CompletedProcess[str]:
        for stack in self.stacks:
            done = checked(self._run("up", "--stack", stack, "--yes"))
        return done

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.lab.pulumi.run_beside(
            [sys.executable, "-m", "flux_tenancy.command", *arguments], self.project.folder
        )


def _start(settings: Settings, tools: Mapping[str, Path], stacks: Iterable[str]) -> None:
    for stack in stacks:
        Cluster(settings, stack).up(tools)


def _stop(settings: Settings, stacks: Iterable[str]) -> None:
    for stack in stacks:
        Cluster(settings, stack).stop()


def _follow(
    settings: Settings, tools: Mapping[str, Path], waves: Sequence[Sequence[str]], logs: Path, begin: float
) -> None:
    """Stop the clusters of waves that have ended, and start the next ones in their place.

    Args:
        logs: folder in which the log of an update shows that its wave has begun.
        begin: Unix time of the run's start.
    """
    later = [stack for wave in waves for stack in wave][AT_ONCE:]
    for ended, begun in pairwise(waves):
        while not any(log.stat().st_mtime >= begin for stack in begun if (log := logs / f"{stack}.log").exists()):
            time.sleep(_POLL_SECONDS)
        _stop(settings, ended[: len(later)])
        _start(settings, tools, later[: len(ended)])
        del later[: len(ended)]


@contextmanager
def _new_fleet(stacks: int, say: Callable[[str], None]) -> Iterator[_Fleet]:
    """Clusters that have run once, without Flux, and a project for them, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-fleet-") as folder:
        lab = Lab(Path(folder, "lab"), "up", clusters=stacks)
        lab.pulumi = UsersPulumi(lab)
        try:
            files = {"config.yaml": yaml.safe_dump(made("ConfigMap"))}
            url = lab.repository(_ORGANIZATION, _REPOSITORY, files, Path(folder, "repositories"))
            names = [f"region-{number}" for number in range(1, stacks + 1)]
            for name in names:
                say(f"Starting cluster {name}, of {stacks}")
                _start(lab.settings, lab.tools, [name])
                if stacks > AT_ONCE:
                    _stop(lab.settings, [name])
            # Two waves have to fit the clusters that run at the same time.
            first, second, others = names[:1], names[1:2], names[2:]
            size = AT_ONCE // 2
            waves = [first, second, *(others[begin : begin + size] for begin in range(0, len(others), size))]
            yield _Fleet(lab, Project(Path(folder, "project"), lab.pulumi), waves, url)
        finally:
            lab.stop()


def results(stacks: int, samples: Mapping[str, Sample]) -> Results:
    """Each step as a whole and for one stack, compared with one stack after the other without a change."""
    alone = samples[ONE_BY_ONE].seconds if ONE_BY_ONE in samples else None
    rows = []
    for step, sample in samples.items():
        seconds = sample.seconds
        row = {"step": step, "stacks": stacks, "s": seconds, "s of one stack": seconds / stacks}
        rows.append(row | ({"×": seconds / alone} if alone else {}) | {"MiB": sample.peak_mib})
    columns = {heading: form for heading, form in _COLUMNS.items() if heading in rows[0]}
    raw = [{"step": step, "stacks": stacks, **asdict(sample)} for step, sample in samples.items()]
    return Results("fleet", "Many clusters", columns, rows, NOTES, raw)
