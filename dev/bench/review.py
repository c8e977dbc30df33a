"""The commands for reviewers: a render, and reports about a change of one tenant and of all tenants."""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from statistics import median

import yaml

from dev.bench.measure import Sample, measure
from dev.bench.report import Results
from dev.bench.rig import Rig, repositories

RENDER, ONE_CHANGED, ALL_CHANGED = "render", "diff of one tenant's change", "diff of a change of all tenants"
"""What is measured."""

NOTES = (
    "`flux-tenancy review render` and `flux-tenancy review diff --output markdown` of one stack, as in the job of a "
    "pull request: a process that imports the program, renders Flux, the policies and all tenants, and checks schemas "
    "and policies with `offline-admission`. A diff does so for the merge base and for the working tree.",
    "The change gives a tenant another branch and another interval, which differ from tenant to tenant, so the report "
    "folds nothing.",
    "Medians; × is the time divided by that of a render in the same run. Memory is the highest sum of the resident "
    "sets of a command and its descendants, sampled every 50 ms; shared pages count once for each process.",
)

LONG_ROUND_SECONDS = 60.0
"""A round that takes longer than this is not repeated."""

_COLUMNS = {"tenants": "d", "command": "", "runs": "d", "seconds": ".2f", "time ×": ".2f", "MiB": ".0f"}
_IDENTITY = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
# The files that other contests write as well.
_IGNORED = "/.venv\n/.render/\n/objects*.yaml\n"


@dataclass(frozen=True)
class Measured:
    """The samples for a number of tenants by command, in the order of the rounds."""

    tenants: int
    samples: Mapping[str, Sequence[Sample]]


def measure_review(rig: Rig, tenants: int, runs: int, say: Callable[[str], None]) -> Measured:
    """Measure one number of tenants in a number of rounds, unless a round takes too long.

    Raises LabError if a command fails.
    """
    rig.configure(
        repositories(tenants), policies={"engine": "native", "sources": {"allowed": ["https://git.example.com/*"]}}
    )
    samples: dict[str, list[Sample]] = defaultdict(list)
    for _ in range(runs):
        begin = time.monotonic()
        for command, sample in _round(rig, tenants):
            samples[command].append(sample)
            say(f"{tenants:>5} tenants  {command:<32} {sample.seconds:8.2f} s {sample.peak_mib:7.0f} MiB")
        if time.monotonic() - begin > LONG_ROUND_SECONDS:
            break
    return Measured(tenants, samples)


def results(measured: Sequence[Measured]) -> Results:
    """Every command for every number of tenants, compared with a render."""
    rows, raw = [], []
    for each in measured:
        base = median(sample.seconds for sample in each.samples[RENDER])
        for command, taken in each.samples.items():
            seconds, peak = median(one.seconds for one in taken), median(one.peak_mib for one in taken)
            values = (each.tenants, command, len(taken), seconds, seconds / base, peak)
            rows.append(dict(zip(_COLUMNS, values, strict=True)))
            raw += [{"tenants": each.tenants, "command": command, **asdict(one)} for one in taken]
    return Results("review", "The commands for reviewers", _COLUMNS, rows, NOTES, raw)


def _round(rig: Rig, tenants: int) -> Iterator[tuple[str, Sample]]:
    diff = partial(rig.review, "diff", "--base=main", "--output=markdown")
    yield RENDER, measure(partial(rig.review, "render", "--out=.render"))
    for command, count in ((ONE_CHANGED, 1), (ALL_CHANGED, tenants)):
        with tenants_changed(rig.project.folder, count):
            yield command, measure(diff)


@contextmanager
def tenants_changed(project: Path, count: int) -> Iterator[None]:
    """A clone whose branch main has the project, with some tenants changed in the working tree, during the block.

    Args:
        project: folder of the project, which is no clone.
        count: how many of its tenants change, each in another way.
    """
    files = sorted((project / "tenants").glob("*.yaml"))[:count]
    before = {file: file.read_text() for file in files}
    (project / ".gitignore").write_text(_IGNORED)
    for arguments in (("init", "--initial-branch=main"), ("add", "."), (*_IDENTITY, "commit", "--message=Base")):
        subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)
    for number, file in enumerate(files, 1):
        content = yaml.safe_load(before[file])
        content["source"]["branch"] = f"release-{number}"
        content["sync"]["interval"] = f"{10 + number}m"
        file.write_text(yaml.safe_dump(content))
    try:
        yield
    finally:
        for file, text in before.items():
            file.write_text(text)
        rmtree(project / ".git")
