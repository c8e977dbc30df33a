"""A picture of a dashboard with the data of a real Prometheus, drawn without Grafana, which the lab does not have."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

Ask = Callable[..., Any]
"""Asks the API of a Prometheus: the path and the parameters, which give `data`."""
_COLORS = ("#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#d9a516", "#37872d", "#8f3bb8", "#1f60c4", "#c4162a")
_ROW, _WIDTH, _SPAN = 38, 1240, 300
_STYLE = f"""
body {{ margin: 0; padding: 12px; width: {_WIDTH}px; background: #f4f5f5; font: 12px sans-serif; color: #24292e }}
h1 {{ font-size: 16px; margin: 0 0 8px }} h2 {{ font-size: 12px; margin: 0 0 4px }}
main {{ display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: {_ROW - 8}px; gap: 8px }}
section {{ background: white; border: 1px solid #dcdde0; padding: 6px; overflow: hidden }}
b {{ display: block; font-size: 34px; font-weight: normal; text-align: center }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ text-align: left; border-bottom: 1px solid #eee; padding: 2px 6px }}
polyline {{ fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }}
svg {{ width: 100%; height: calc(100% - 62px) }} small {{ color: #6b6f76; margin-right: 8px }}
"""
_HIDDEN = {"__name__", "instance", "job"}


def page(dashboard: str, ask: Ask, variables: Mapping[str, str]) -> str:
    """A dashboard as HTML.

    Args:
        dashboard: its JSON.
        ask: asks Prometheus.
        variables: what replaces its variables, by name.
    """
    described = json.loads(dashboard)
    panels = "".join(_panel(each, ask, variables) for each in described["panels"])
    chosen = ", ".join(f"{name} {value}" for name, value in variables.items())
    heading = escape(f"{described['title']}{f': {chosen}' if chosen else ''}")
    return f"<!doctype html><style>{_STYLE}</style><h1>{heading}</h1><main>{panels}</main>"


def screenshot(html: str, picture: Path) -> None:
    """Write a page as PNG, with the Chromium of this machine."""
    file = picture.with_suffix(".html")
    file.write_text(html, encoding="utf-8")
    rows = max(int(row) for row in re.findall(r"grid-row: (\d+)", html)) + 8
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={_WIDTH + 24},{rows * _ROW + 50}"]
    subprocess.run(["chromium", *options, f"--screenshot={picture}", file.as_uri()], check=True, capture_output=True)
    file.unlink()


def _panel(panel: dict[str, Any], ask: Ask, variables: Mapping[str, str]) -> str:
    place, unit = panel["gridPos"], panel["fieldConfig"]["defaults"].get("unit", "none")
    end, series = time.time(), []
    for target in panel["targets"]:
        expr = target["expr"]
        for name, value in variables.items():
            expr = expr.replace(f"${name}", value)
        if panel["type"] == "timeseries":
            found = ask("query_range", query=expr, start=end - _SPAN, end=end, step=5)["result"]
        else:
            found = ask("query", query=expr)["result"]
        series += [(_legend(target["legendFormat"], each["metric"]), each) for each in found]
    drawn = {"stat": _stat, "table": _table, "timeseries": _chart}[panel["type"]](series, unit) if series else "No data"
    style = f"grid-column: {place['x'] + 1} / span {place['w']}; grid-row: {place['y'] + 1} / span {place['h']}"
    return f'<section style="{style}"><h2>{escape(panel["title"])}</h2>{drawn}</section>'


def _legend(pattern: str, metric: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda label: metric.get(label[1], ""), pattern).strip()


def _shown(value: float, unit: str) -> str:
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    return f"{value:.3g}" + {"s": " s", "reqps": "/s"}.get(unit, "")


def _stat(series: list[tuple[str, dict[str, Any]]], unit: str) -> str:
    return f"<b>{_shown(float(series[0][1]['value'][1]), unit)}</b>"


def _table(series: list[tuple[str, dict[str, Any]]], unit: str) -> str:
    labels = sorted({label for _, each in series for label in each["metric"]} - _HIDDEN)
    head = "".join(f"<th>{escape(each)}</th>" for each in (*labels, "value"))
    rows = (
        [*(each["metric"].get(label, "") for label in labels), _shown(float(each["value"][1]), unit)]
        for _, each in series
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell[:40])}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _chart(series: list[tuple[str, dict[str, Any]]], unit: str) -> str:
    points = [(float(at), float(value)) for _, each in series for at, value in each["values"]]
    last, top = max(at for at, _ in points), max(value for _, value in points) or 1
    lines, legends = [], []
    for (legend, each), color in zip(series, _COLORS, strict=False):
        line = " ".join(
            f"{500 * (1 - (last - float(at)) / _SPAN):.1f},{100 - 95 * float(value) / top:.1f}"
            for at, value in each["values"]
        )
        lines.append(f'<polyline points="{line}" stroke="{color}"/>')
        legends.append(f'<small><span style="color: {color}">&#9632;</span> {escape(legend)}</small>')
    axis = f"<small>0 to {_shown(top, unit)}, last {_SPAN // 60} minutes</small>"
    return f'{axis}<svg viewBox="0 0 500 100" preserveAspectRatio="none">{"".join(lines)}</svg>{"".join(legends)}'
