"""Capsule's chart, its custom resource definitions, and the release that it is installed as."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from components.capsule.config import CapsuleConfig
from components.capsule.objects import CAPSULE_NAMESPACE
from components.charts.chart import Chart, PinnedChart, read_chart
from components.charts.product import Product
from components.charts.wordings import release_wordings
from components.config.yaml_files import FastLoader
from components.vocabulary.manifests import Manifest

CAPSULE = Product("capsule", CAPSULE_NAMESPACE, release_wordings("CAP", "Capsule", "capsule"))

_DEFINITIONS = "capsule/crds/"


@dataclass(frozen=True)
class CapsuleRelease:
    """What is installed of Capsule.

    Attributes:
        chart: the chart, digest checked.
        definitions: its custom resource definitions, which Helm would neither upgrade nor remove.
    """

    chart: Chart
    definitions: tuple[Manifest, ...]


def read_capsule(config: CapsuleConfig, project: Path) -> CapsuleRelease:
    """The release that the `capsule` section pins, with the chart written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.charts.chart.read_chart`).
    """
    pinned = PinnedChart(config.version, config.address, config.chart.bundle, config.sha256)
    chart = read_chart(CAPSULE, pinned, project)
    with tarfile.open(project / chart.path) as archive:
        files = [archive.extractfile(name) for name in sorted(archive.getnames()) if _is_definition(name)]
        definitions = [yaml.load(file, FastLoader) for file in files if file is not None]
    return CapsuleRelease(chart, tuple(_newest_only(each) for each in definitions))


def _is_definition(path: str) -> bool:
    return path.startswith(_DEFINITIONS) and path.endswith(".yaml")


def _newest_only(definition: Manifest) -> Manifest:
    """The definition, serving only the version in which objects are stored.

    Nothing converts an older version then, so no request depends on Capsule's conversion webhook, and no old manifest
    loses a field silently.
    """
    versions = [version | {"served": version["storage"]} for version in definition["spec"]["versions"]]
    return definition | {"spec": definition["spec"] | {"versions": versions}}
