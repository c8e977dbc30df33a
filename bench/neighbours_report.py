"""What a tenant costs its neighbours, for people and programs: a table and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.neighbours import OBJECTS, Beside, Samples
from bench.tables import Results

NOTES = (
    "Seconds from the end of a tenant's push, when Flux is told of it, until its Kustomization is ready with that "
    "commit.",
    "The busy tenant has as many Kustomizations as its quota lets it have, with the shortest interval that the "
    f"policies allow, each with the same {OBJECTS} ConfigMaps, for which they take turns. `busy all the time`: it asks "
    "Flux for each of them again every second, too.",
    "× is the median, and the longest, divided by the median beside nobody, of the same run. All default limits and "
    "policies, engine `native`.",
)

_HEADINGS = ("beside", "commits", "median s", "longest s", "median ×", "longest ×")


@dataclass(frozen=True)
class Cost:
    """Commit-to-ready in one neighbourhood; seconds.

    Attributes:
        ratio: the median divided by that beside nobody.
        longest_ratio: the longest divided by the median beside nobody.
    """

    beside: Beside
    commits: int
    median: float
    longest: float
    ratio: float
    longest_ratio: float


def costs(samples: Samples) -> list[Cost]:
    """Each neighbourhood against nobody."""
    alone = median(samples[Beside.NOBODY])
    return [
        Cost(beside, len(taken), median(taken), max(taken), median(taken) / alone, max(taken) / alone)
        for beside, taken in samples.items()
    ]


def results(found: list[Cost]) -> Results:
    """For people."""
    rows = [
        (
            each.beside,
            (
                str(each.beside),
                str(each.commits),
                f"{each.median:.2f}",
                f"{each.longest:.2f}",
                f"{each.ratio:.1f}",
                f"{each.longest_ratio:.1f}",
            ),
        )
        for each in found
    ]
    return Results("What a tenant costs another", _HEADINGS, frozenset({"beside"}), rows, NOTES)


def as_json(samples: Samples, found: list[Cost], machine: Mapping[str, Any]) -> str:
    """Everything, raw samples included; seconds."""
    content = {
        "machine": machine,
        "notes": NOTES,
        "costs": [asdict(each) for each in found],
        "samples": [{"beside": beside, "seconds": taken} for beside, taken in samples.items()],
    }
    return json.dumps(content, indent=2) + "\n"


def write(folder: Path, samples: Samples, found: list[Cost], machine: Mapping[str, Any]) -> None:
    """Write `neighbours.json` and `neighbours.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "neighbours.json").write_text(as_json(samples, found, machine))
    (folder / "neighbours.md").write_text(results(found).markdown(machine))
