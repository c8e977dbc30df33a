"""Kyverno's Helm chart as a pinned input, written to where Pulumi's provider can read it."""

from __future__ import annotations

import io
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.config.pinned_input import PinnedInput, keep, read_pinned
from components.config.yaml_files import FastLoader
from components.kyverno.config import KyvernoConfig
from components.kyverno.wordings import CHART_NOT_WRITTEN, NOT_THE_CHART, OTHER_VERSION

CHART = "kyverno"
# Inside the project, so that state and previews name the same path on every machine; not in Git.
FOLDER = ".charts"


@dataclass(frozen=True)
class Chart:
    """The chart, digest checked.

    Attributes:
        path: its archive, relative to the project; the file name is the digest, so other content has another path.
        version: version of the chart.
    """

    path: str
    version: str


def read_chart(config: KyvernoConfig, project: Path) -> Chart:
    """The chart that the configuration pins, written into the project.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not Kyverno's
            chart, it is for another version of Kyverno, or it cannot be written into the project.
    """
    pinned = PinnedInput("kyverno", "chart", config.chart.address, config.chart.bundle, config.sha256, ".tgz")
    content = read_pinned(pinned, project)
    metadata = _metadata(content)
    if metadata is None or metadata.get("name") != CHART:
        raise pinned.error("chart", NOT_THE_CHART(source=pinned.source))
    installed = str(metadata.get("appVersion", "")).removeprefix("v")
    if installed != config.version:
        fields = {"version": config.version, "source": pinned.source, "installed": installed or "of an unknown version"}
        raise pinned.error("version", OTHER_VERSION(**fields))
    path = Path(FOLDER, f"{config.sha256}.tgz")
    if not keep(project / path, content):
        raise pinned.error("chart", CHART_NOT_WRITTEN(folder=FOLDER))
    return Chart(str(path), str(metadata.get("version", "")))


def _metadata(content: bytes) -> dict[str, Any] | None:
    """The archive's Chart.yaml, or None if there is none."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            file = archive.extractfile(f"{CHART}/Chart.yaml")
            found = yaml.load(file, FastLoader) if file is not None else None
    except (tarfile.TarError, zlib.error, OSError, EOFError, KeyError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None
