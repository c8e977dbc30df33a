"""Many clusters: what `flux-tenancy fleet` takes for stacks that have a cluster each."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import yaml

from bench.measure import Sample, checked, measure
from bench.report import Results
from bench.rig import UsersPulumi, releases, repositories, write_tenants
from flux_tenancy.operations.fleet_file import FILE
from tests.support.lab import Lab
from tests.support.policy_cases import made
from tests.support.project import Project

TENANTS = 25
"""Tenants of each stack."""
ONE_BY_ONE = "up of each stack"
"""The baseline: `flux-tenancy up` of one stack after the other."""
STEPS = ("first up", "no change", ONE_BY_ONE, "one more tenant in each", "preview", "drift", "status")

NOTES = (
    f"`flux-tenancy fleet` for stacks of {TENANTS} tenants, in three waves: one stack, another one, and all others. "
    "Each stack has a cluster of its own, and all have the file backend. Flux, native policies and all tenants are "
    "created by the first up.",
    "Flux runs in each cluster, so a wave ends when Flux has applied every tenant's repository.",
    f"× compares with `{ONE_BY_ONE}`: `flux-tenancy up` of one stack after the other, without a change.",
    "All clusters, the Git host and the command share the cores of this machine. MiB: the command, with all of "
    "Pulumi's processes.",
)

_ORGANIZATION, _REPOSITORY = "bench", "app"
_COLUMNS = {"step": "", "stacks": "d", "s": ".1f", "s of one stack": ".1f", "×": ".1f", "MiB": ".0f"}


def measure_fleet(stacks: int, say: Callable[[str], None]) -> dict[str, Sample]:
    """What each step takes for a number of stacks; raises LabError if a command fails."""
    samples = {}
    with _running_fleet(stacks, say) as fleet:
        for step, run in zip(STEPS, fleet.steps(), strict=True):
            samples[step] = measure(run)
            say(f"{stacks} stacks  {step:<25} {samples[step].seconds:8.1f} s {samples[step].peak_mib:7.0f} MiB")
    return samples


@dataclass(frozen=True)
class _Fleet:
    """A project with a stack for each cluster."""

    lab: Lab
    project: Project
    kubeconfigs: Mapping[str, Path]
    url: str

    def steps(self) -> Iterator[Callable[[], subprocess.CompletedProcess[str]]]:
        up = partial(self._run, "fleet", "up")
        self.configure(TENANTS)
        yield up
        yield up
        yield self._up_one_by_one
        self.configure(TENANTS + 1)
        yield up
        for command in ("preview", "drift", "status"):
            yield partial(self._run, "fleet", command)

    def configure(self, tenants: int) -> None:
        """Write each stack with this number of tenants, which all have the same repository."""
        names = list(repositories(tenants))
        write_tenants(self.project, dict.fromkeys(names, self.url), "10m", "1h")
        for stack, kubeconfig in self.kubeconfigs.items():
            self.project.stack(
                stack,
                cluster={"kubeconfig": str(kubeconfig)},
                flux=self.lab.bundle(releases(self.lab)["flux"]),
                policies={"engine": "native", "sources": {"plainHttp": True}},
                tenants={name: {"sync": {"path": "."}} for name in names},
            )
        first, second, *others = self.kubeconfigs
        waves = {"staging": [first], "canary": [second], "regions": others}
        content = {"waves": [{"name": name, "stacks": stacks} for name, stacks in waves.items()]}
        (self.project.folder / FILE).write_text(yaml.safe_dump(content))

    def _up_one_by_one(self) -> subprocess.CompletedProcess[str]:
        for stack in self.kubeconfigs:
            done = checked(self._run("up", "--stack", stack, "--yes"))
        return done

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.lab.pulumi.run_beside(
            [sys.executable, "-m", "flux_tenancy.command", *arguments], self.project.folder
        )


@contextmanager
def _running_fleet(stacks: int, say: Callable[[str], None]) -> Iterator[_Fleet]:
    """Clusters without Flux, and a project for them, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-fleet-") as folder:
        lab = Lab(Path(folder, "lab"), "up", clusters=stacks)
        lab.pulumi = UsersPulumi(lab)
        try:
            files = {"config.yaml": yaml.safe_dump(made("ConfigMap"))}
            url = lab.repository(_ORGANIZATION, _REPOSITORY, files, Path(folder, "repositories"))
            with ExitStack() as running:
                kubeconfigs = {}
                for number in range(1, stacks + 1):
                    say(f"Starting cluster {number} of {stacks}")
                    cluster = running.enter_context(lab.cluster(f"region-{number}"))
                    kubeconfigs[cluster.name] = cluster.kubeconfig
                yield _Fleet(lab, Project(Path(folder, "project"), lab.pulumi), kubeconfigs, url)
        finally:
            lab.stop()


def results(stacks: int, samples: Mapping[str, Sample]) -> Results:
    """Each step as a whole and for one stack, compared with one stack after the other without a change."""
    alone = samples[ONE_BY_ONE].seconds
    rows = []
    for step, sample in samples.items():
        values = (step, stacks, sample.seconds, sample.seconds / stacks, sample.seconds / alone, sample.peak_mib)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    raw = [{"step": step, "stacks": stacks, **asdict(sample)} for step, sample in samples.items()]
    return Results("fleet", "Many clusters", _COLUMNS, rows, NOTES, raw)
