"""Pins the newest supported releases of Flux, Kyverno and Capsule in the files of stacks.

It needs neither a cluster nor Pulumi, so that a scheduled job can propose the change as a pull request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.types import SEMANTIC_VERSION
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.installs.product import Product
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.operations.releases.upstream import (
    CAPSULE_INDEX,
    FLUX_INDEX,
    KYVERNO_INDEX,
    UpstreamRelease,
    chart_releases,
    flux_releases,
    newest,
)
from flux_tenancy.project.described_stack import described_file


@dataclass(frozen=True)
class Published:
    """A product and what upstream has published of it.

    Attributes:
        product: what a stack installs a pinned release of.
        source: the key of its section that says where the release comes from.
        releases: the releases of upstream.
    """

    product: Product
    source: str
    releases: Sequence[UpstreamRelease]


@dataclass(frozen=True)
class Update:
    """A newer release for a stack.

    Attributes:
        published: of what.
        before: version that the stack pins.
        after: the newer release.
        values: the new strings by path below the section; empty if `by_hand` has a reason.
        by_hand: why the file cannot be changed by itself.
    """

    published: Published
    before: str
    after: UpstreamRelease
    values: Mapping[tuple[str, ...], str]
    by_hand: str = ""

    @property
    def summary(self) -> str:
        """One item of a list in Markdown."""
        upgrade = f"- {self.published.product.title} {self.before} → {self.after.version}"
        result = f"not changed: {self.by_hand}" if self.by_hand else f"`sha256:{self.values['sha256',]}`"
        return f"{upgrade} ([changelog]({self.published.product.changelog(self.after.version)})), {result}"


def update_releases(
    stacks: Sequence[str], project: Path, flux_index: str = "", kyverno_index: str = "", capsule_index: str = ""
) -> str:
    """Pin the newest supported releases in the files of stacks; returns a summary in Markdown.

    Args:
        stacks: names of the stacks.
        project: folder of the project.
        flux_index: list of Flux releases, as GitHub's API has it; by default, that of GitHub.
        kyverno_index: index of the Helm repository with Kyverno; by default, Kyverno's own.
        capsule_index: the same for Capsule; it is read only if a stack installs Capsule.

    Raises:
        OperationError: a stack does not exist, its file cannot be changed in these places alone, or upstream cannot be
            read or has another digest than published; no file is changed.
    """
    files = {name: described_file(name, project) for name in stacks}
    published = [
        Published(FLUX, "manifests", flux_releases(flux_index or FLUX_INDEX)),
        Published(KYVERNO, "chart", chart_releases(kyverno_index or KYVERNO_INDEX, KYVERNO.name)),
    ]
    if any(_section(file.merged, CAPSULE.name) for file in files.values()):
        published.append(Published(CAPSULE, "chart", chart_releases(capsule_index or CAPSULE_INDEX, CAPSULE.name)))
    edits = ProjectEdits(project)
    found = {}
    for name, file in files.items():
        updates = [each for product in published if (each := update(file, product)) is not None]
        for each in updates:
            for path, value in each.values.items():
                edits.set(name, (each.published.product.name, *path), value)
        if updates:
            found[name] = updates
    edits.apply()
    return _report(found, published)


def update(file: StackFile, published: Published) -> Update | None:
    """The newer release for a stack; None if it has the newest, or does not install the product.

    Args:
        file: the stack's file.
        published: what to update.

    Raises:
        OperationError: the release cannot be read, or has another digest than upstream has published.
    """
    name = published.product.name
    own = _section(file.sections, name)
    section = _section(file.merged, name)
    before = section.get("version")
    if not isinstance(before, str) or (after := newest(published.releases, before, published.product.minors)) is None:
        return None
    if not {"version", "sha256"} <= own.keys():
        return Update(published, before, after, {}, f"{name} is in Pulumi.yaml")
    if not re.fullmatch(SEMANTIC_VERSION, before):
        return Update(published, before, after, {}, f"{name}.version is not a release")
    source = own.get(published.source) or {}
    if not isinstance(source, Mapping):
        return Update(published, before, after, {}, f"{name}.{published.source} is not a mapping")
    values: dict[tuple[str, ...], str] = {("version",): after.version, ("sha256",): after.sha256}
    for key, value in source.items():
        path = f"{name}.{published.source}.{key}"
        if key == "bundle":
            return Update(published, before, after, {}, f"{path} is a local file")
        moved = after.chart if key == "version" else _moved(str(value), before, after, published.releases)
        if moved is None:
            return Update(published, before, after, {}, f"{path} does not contain the version")
        values[published.source, key] = moved
    return Update(published, before, after, values)


def _moved(text: str, before: str, after: UpstreamRelease, releases: Sequence[UpstreamRelease]) -> str | None:
    """An address of the newer release; None if the address has no version in it."""
    old, new = before, after.version
    if after.chart:
        old, new = next((each.chart for each in releases if each.version == before), ""), after.chart
    return text.replace(old, new) if old and old in text else None


def _section(sections: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = sections.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _report(found: Mapping[str, Sequence[Update]], published: Sequence[Published]) -> str:
    lines = []
    for stack, updates in found.items():
        lines += [f"### {stack}", "", *(each.summary for each in updates), ""]
    for each in published:
        latest = max(each.releases, key=lambda release: release.order, default=None)
        if latest is not None and latest.order[:2] > max(each.product.minors):
            lines.append(
                f"{each.product.title} {latest.version} is newer than what this program supports "
                f"({each.product.versions()})."
            )
    return "\n".join(lines).strip() or "All stacks have the newest supported releases."
