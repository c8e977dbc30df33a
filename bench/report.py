"""The results for people and programs: a table, a plot and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.results import Measured, Ratio, Step
from bench.tables import Results

NOTES = (
    "Pulumi is the real program with Flux in the stack already; what comes and goes are the tenants. kubectl "
    "applies, diffs and deletes the very same objects, rendered from the program's own functions, on the "
    "same cluster, in turns.",
    "preview and no-change up are held against `kubectl diff --server-side`, first up against `kubectl apply "
    "--server-side`, destroy against `kubectl delete --wait`; the last two return when the namespaces are "
    "gone. kubectl cannot diff an object whose namespace does not exist yet, so its diff is of objects that "
    "exist.",
    "up and destroy run without the preview that comes before them by default; `pulumi destroy` names the "
    "tenants by --target, so that Flux stays.",
    "Flux's controllers are scaled to zero and no sync is waited for: what they do with the objects costs "
    "the same whoever has applied these.",
    "Medians. Memory is the highest sum of the resident sets of a command and all that it started, sampled "
    "every 50 ms; shared pages count once for each process.",
)

WIDTH = 110
"""Columns that the table needs."""

_HEADINGS = (
    "tenants",
    "objects",
    "step",
    "against",
    "runs",
    "Pulumi s",
    "kubectl s",
    "time ×",
    "Pulumi MiB",
    "kubectl MiB",
    "memory ×",
)
_PULUMI_COLOUR, _KUBECTL_COLOUR = "#8a3391", "#326ce5"


def cells(ratio: Ratio) -> tuple[str, ...]:
    """One line of the table."""
    return (
        str(ratio.tenants),
        str(ratio.objects),
        ratio.step,
        ratio.baseline,
        str(ratio.runs),
        f"{ratio.pulumi_seconds:.2f}",
        f"{ratio.kubectl_seconds:.2f}",
        f"{ratio.time:.1f}",
        f"{ratio.pulumi_mib:.0f}",
        f"{ratio.kubectl_mib:.0f}",
        f"{ratio.memory:.1f}",
    )


def results(ratios: Sequence[Ratio]) -> Results:
    """For people."""
    rows = [(each.tenants, cells(each)) for each in ratios]
    return Results("Pulumi against kubectl", _HEADINGS, frozenset({"step", "against"}), rows, NOTES)


def as_json(measured: Sequence[Measured], ratios: Sequence[Ratio], machine: Mapping[str, Any]) -> str:
    """Everything, raw samples included; seconds and MiB."""
    samples = [
        {"tenants": each.tenants, "objects": each.objects, "step": step, **asdict(sample)}
        for each in measured
        for step, taken in each.samples.items()
        for sample in taken
    ]
    content = {
        "machine": machine,
        "notes": NOTES,
        "ratios": [asdict(ratio) for ratio in ratios],
        "samples": samples,
    }
    return json.dumps(content, indent=2) + "\n"


def plot(ratios: Sequence[Ratio], file: Path) -> None:
    """Bars, a row for time and one for memory, a column for each step; over each pair stands the ratio."""
    # Only here: it takes a second to import.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = (
        ("seconds", "pulumi_seconds", "kubectl_seconds", "time"),
        ("MiB", "pulumi_mib", "kubectl_mib", "memory"),
    )
    figure, panels = pyplot.subplots(2, len(Step), figsize=(14, 7), sharey="row", layout="constrained")
    for axes_of_row, (unit, pulumi, kubectl, ratio) in zip(panels, rows, strict=True):
        for axes, step in zip(axes_of_row, Step, strict=True):
            of_step = [each for each in ratios if each.step is step]
            _bars(axes, of_step, pulumi, kubectl, ratio)
            axes.set_title(f"{step} / {of_step[0].baseline}", fontsize=10)
        axes_of_row[0].set_ylabel(unit)
    # From a tenth of a second to minutes; with a shared axis the setting holds for the row.
    panels[0][0].set_yscale("log")
    panels[0][0].yaxis.set_major_formatter("{x:g}")
    panels[0][0].legend(loc="upper left", fontsize=9)
    figure.suptitle("Pulumi against kubectl, the same tenants' objects; over the bars: Pulumi ÷ kubectl")
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def write(folder: Path, measured: Sequence[Measured], ratios: Sequence[Ratio], machine: Mapping[str, Any]) -> None:
    """Write `results.json`, `results.md` and `results.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(as_json(measured, ratios, machine))
    (folder / "results.md").write_text(results(ratios).markdown(machine))
    plot(ratios, folder / "results.png")


def _bars(axes: Any, ratios: Sequence[Ratio], pulumi: str, kubectl: str, factor: str) -> None:
    positions = range(len(ratios))
    width = 0.38
    for name, key, shift, colour in (
        ("Pulumi", pulumi, -width / 2, _PULUMI_COLOUR),
        ("kubectl", kubectl, width / 2, _KUBECTL_COLOUR),
    ):
        heights = [getattr(each, key) for each in ratios]
        axes.bar([position + shift for position in positions], heights, width, label=name, color=colour)
    for position, each in zip(positions, ratios, strict=True):
        top = max(getattr(each, pulumi), getattr(each, kubectl))
        axes.annotate(
            f"×{getattr(each, factor):.1f}",
            (position, top),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    axes.margins(y=0.15)
    axes.set_xticks(list(positions), [str(each.tenants) for each in ratios])
    axes.set_xlabel("tenants")
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
