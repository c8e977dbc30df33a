"""Kyverno's Helm chart as a pinned input, laid where Pulumi's provider can read it."""

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

CHART = "kyverno"
# Inside the project, so that state and previews name the same path on every machine; not in Git.
FOLDER = ".charts"


@dataclass(frozen=True)
class Chart:
    """The chart, digest checked.

    Attributes:
        path: its archive, relative to the project; its name is its digest, so that another content is another path.
        version: its own version.
    """

    path: str
    version: str


def read_chart(config: KyvernoConfig, project: Path) -> Chart:
    """The chart that the configuration pins, laid into the project.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not Kyverno's
            chart, it is for another version of Kyverno, or it cannot be laid into the project.
    """
    pinned = PinnedInput("kyverno", "chart", config.chart.address, config.chart.bundle, config.sha256, ".tgz")
    content = read_pinned(pinned, project)
    metadata = _metadata(content)
    if metadata is None or metadata.get("name") != CHART:
        raise pinned.error("chart", f"{pinned.source} is not an archive of Kyverno's Helm chart")
    installed = str(metadata.get("appVersion", "")).removeprefix("v")
    if installed != config.version:
        raise pinned.error(
            "version",
            f"is {config.version}, but {pinned.source} installs Kyverno {installed or 'of an unknown version'}; "
            "correct one of them",
        )
    path = Path(FOLDER, f"{config.sha256}.tgz")
    if not keep(project / path, content):
        raise pinned.error("chart", f"cannot be laid into {FOLDER}/ of the project, from where Pulumi reads it")
    return Chart(str(path), str(metadata.get("version", "")))


def _metadata(content: bytes) -> dict[str, Any] | None:
    """What the archive's Chart.yaml says, or None where there is no such thing."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            file = archive.extractfile(f"{CHART}/Chart.yaml")
            found = yaml.load(file, FastLoader) if file is not None else None
    except (tarfile.TarError, zlib.error, OSError, EOFError, KeyError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None
