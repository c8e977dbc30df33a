"""The CustomResourceDefinitions that Kyverno's chart installs: in a render the whole chart is one object."""

from __future__ import annotations

import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path

import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.chart import FOLDER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.render.rendered import Render

_RELEASE = "kubernetes:helm.sh/v3:Release"
_TEMPLATE = "{{"


def kyverno_kinds(render: Render, project: Path, kinds: Collection[str]) -> Iterator[Manifest]:
    """The definitions of some kinds, without the metadata that Helm would fill in.

    Args:
        render: the render, which names the chart by its digest.
        project: the project that it was rendered from, which keeps the chart.
        kinds: the kinds that are wanted; parsing all takes seconds.
    """
    for release in render.objects:
        if release.type != _RELEASE or not kinds:
            continue
        digest = str(release.manifest["properties"]["chart"]).removeprefix("sha256:")
        with tarfile.open(project / FOLDER / f"{digest}.tgz") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".yaml") else None
                if file is not None and "/templates/" in member.name:
                    yield from _definition(file.read().decode(), kinds)


def _definition(template: str, kinds: Collection[str]) -> Iterator[Manifest]:
    if "\nkind: CustomResourceDefinition\n" not in template:
        return
    if not any(f"\n    kind: {kind}\n" in template for kind in kinds):
        return
    # Only labels, annotations and conditions around the whole are templates, each on lines of its own.
    lines = (line for line in template.splitlines() if _TEMPLATE not in line)
    yield yaml.load("\n".join(lines), FastLoader)
