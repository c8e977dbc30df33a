"""What admission costs, for people and programs: a table, a plot and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.latencies import ENGINES, Latency, Samples
from bench.tables import Results
from bench.tenant_requests import Verb
from components.policies.config import PolicyEngine

NOTES = (
    "A tenant's service account asks, with its own token, on one connection that is kept alive, one request after "
    "the other; measured at the client, from the request to the last byte of the answer. All requests are granted.",
    "The same cluster and stack under each engine, switched by `pulumi up`; Kyverno runs just under `kyverno` and "
    "`both`. Each engine is measured twice, in one order and then in the other, and the kinds of requests in turns. "
    "What comes before it is warm does not count.",
    "× is the figure divided by that of the same request with the engine `none`. `ConfigMap, no policy` lies in a "
    "namespace that is no tenant's: what its × differs from 1.0 is the error of the measurement.",
    "Flux's controllers are scaled to zero, and the Deployment is paused: nobody else asks the API server meanwhile.",
)

_HEADINGS = ("request", "engine", "requests", "p50 ms", "p50 ×", "p99 ms", "p99 ×")
_COLOURS = {
    PolicyEngine.NONE: "#9e9e9e",
    PolicyEngine.NATIVE: "#326ce5",
    PolicyEngine.KYVERNO: "#f7a800",
    PolicyEngine.BOTH: "#8a3391",
}


def cells(latency: Latency) -> tuple[str, ...]:
    """One line of the table."""
    return (
        str(latency.request),
        latency.engine,
        str(latency.requests),
        f"{latency.p50:.1f}",
        f"{latency.p50_ratio:.2f}",
        f"{latency.p99:.1f}",
        f"{latency.p99_ratio:.2f}",
    )


def results(latencies: Sequence[Latency]) -> Results:
    """For people."""
    rows = [(each.request, cells(each)) for each in latencies]
    return Results("Latency that admission adds", _HEADINGS, frozenset({"request", "engine"}), rows, NOTES)


def as_json(samples: Samples, latencies: Sequence[Latency], machine: Mapping[str, Any]) -> str:
    """Everything, raw samples included; latencies in milliseconds, samples in seconds."""
    content = {
        "machine": machine,
        "notes": NOTES,
        "latencies": [asdict(each) for each in latencies],
        "samples": [
            {"engine": engine, **asdict(request), "seconds": seconds} for (engine, request), seconds in samples.items()
        ],
    }
    return json.dumps(content, indent=2) + "\n"


def plot(latencies: Sequence[Latency], file: Path) -> None:
    """Bars, a row for p50 and one for p99, a column for each verb; over each bar stands its ratio."""
    # Only here: it takes a second to import.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    engines = [engine for engine in ENGINES if any(each.engine is engine for each in latencies)]
    figure, panels = pyplot.subplots(2, len(Verb), figsize=(15, 8), sharey="row", layout="constrained")
    for axes_of_row, percentile in zip(panels, ("p50", "p99"), strict=True):
        for axes, verb in zip(axes_of_row, Verb, strict=True):
            _bars(axes, [each for each in latencies if each.request.verb is verb], engines, percentile)
            axes.set_title(verb, fontsize=10)
        axes_of_row[0].set_ylabel(f"{percentile}, ms")
    panels[0][0].legend(loc="upper right", fontsize=9)
    figure.suptitle("A tenant's requests under each engine; over the bars: engine ÷ none")
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def write(folder: Path, samples: Samples, latencies: Sequence[Latency], machine: Mapping[str, Any]) -> None:
    """Write `admission.json`, `admission.md` and `admission.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "admission.json").write_text(as_json(samples, latencies, machine))
    (folder / "admission.md").write_text(results(latencies).markdown(machine))
    plot(latencies, folder / "admission.png")


def _bars(axes: Any, latencies: Sequence[Latency], engines: Sequence[PolicyEngine], percentile: str) -> None:
    names = list(dict.fromkeys(each.request.target for each in latencies))
    width = 0.8 / len(engines)
    for index, engine in enumerate(engines):
        of_engine = [each for each in latencies if each.engine is engine]
        positions = [names.index(each.request.target) + (index - (len(engines) - 1) / 2) * width for each in of_engine]
        heights = [getattr(each, percentile) for each in of_engine]
        axes.bar(positions, heights, width, label=engine, color=_COLOURS[engine])
        for position, height, each in zip(positions, heights, of_engine, strict=True):
            axes.annotate(
                f"{getattr(each, f'{percentile}_ratio'):.1f}",
                (position, height),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=6,
            )
    axes.margins(y=0.15)
    axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
