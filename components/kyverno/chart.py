"""Kyverno's chart, and the release that it is installed as."""

from __future__ import annotations

from pathlib import Path

from components.charts.chart import Chart, PinnedChart, read_chart
from components.charts.product import Product
from components.charts.wordings import release_wordings
from components.kyverno.config import KyvernoConfig
from components.kyverno.objects import NAMESPACE

KYVERNO = Product("kyverno", NAMESPACE, release_wordings("KYV", "Kyverno", "kyverno"))


def kyverno_chart(config: KyvernoConfig, project: Path) -> Chart:
    """The chart that the `kyverno` section pins, written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.charts.chart.read_chart`).
    """
    pinned = PinnedChart(config.version, config.chart.address, config.chart.bundle, config.sha256)
    return read_chart(KYVERNO, pinned, project)
