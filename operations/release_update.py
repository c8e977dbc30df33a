"""`make update-releases`: pins the newest supported releases of Flux and Kyverno in the files of stacks.

It needs neither a cluster nor Pulumi, so that a scheduled job can propose the change as a pull request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from components.installs.flux import release as flux_support
from components.installs.kyverno import config as kyverno_support
from components.stack.files.config_keys import section_of
from components.stack.files.stack_file import StackFile
from operations.described_stack import described_file, described_project, described_stacks
from operations.errors import Operation
from operations.upstream import FLUX_INDEX, KYVERNO_INDEX, UpstreamRelease, flux_releases, kyverno_releases, newest
from operations.yaml_values import replaced

PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Product:
    """What a stack installs a pinned release of.

    Attributes:
        title: what it is called.
        section: its section of the configuration.
        source: the key of the section that says where the release comes from.
        minors: the supported (major, minor) versions.
        supported: the same for messages.
        repository: address of its repository.
        releases: what upstream has published.
    """

    title: str
    section: str
    source: str
    minors: Collection[tuple[int, int]]
    supported: str
    repository: str
    releases: Sequence[UpstreamRelease]

    def changelog(self, version: str) -> str:
        """The address where upstream says what is new in a release."""
        return f"{self.repository}/releases/tag/v{version}"


@dataclass(frozen=True)
class Update:
    """A newer release for a stack.

    Attributes:
        product: of what.
        before: version that the stack pins.
        after: the newer release.
        values: the new strings by path below the section; empty if `by_hand` has a reason.
        by_hand: why the file cannot be changed by itself.
    """

    product: Product
    before: str
    after: UpstreamRelease
    values: Mapping[tuple[str, ...], str]
    by_hand: str = ""

    @property
    def summary(self) -> str:
        """One item of a list in Markdown."""
        upgrade = f"- {self.product.title} {self.before} → {self.after.version}"
        result = f"not changed: {self.by_hand}" if self.by_hand else f"`sha256:{self.values['sha256',]}`"
        return f"{upgrade} ([changelog]({self.product.changelog(self.after.version)})), {result}"


app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def release_update(
    stack: Annotated[list[str] | None, typer.Option(help="name of a stack; by default, all that have a file")] = None,
    flux_index: Annotated[str, typer.Option(help="list of Flux releases, as GitHub's API has it")] = FLUX_INDEX,
    kyverno_index: Annotated[str, typer.Option(help="index of the Helm repository with Kyverno")] = KYVERNO_INDEX,
) -> None:
    """Pin the newest supported releases in the files of stacks, and print a summary in Markdown."""
    products = (flux(flux_releases(flux_index)), kyverno(kyverno_releases(kyverno_index)))
    found = {}
    for name in stack or described_stacks(PROJECT):
        file = described_file(name, PROJECT)
        updates = [each for product in products if (each := update(file, product)) is not None]
        if updates:
            _write(file, updates)
            found[name] = updates
    typer.echo(_report(found, products))


def flux(releases: Sequence[UpstreamRelease]) -> Product:
    minors, supported = flux_support.OLDEST_KUBERNETES.keys(), flux_support.known_versions()
    return Product("Flux", "flux", "manifests", minors, supported, flux_support.REPOSITORY, releases)


def kyverno(releases: Sequence[UpstreamRelease]) -> Product:
    minors, supported = kyverno_support.KNOWN_MINORS, kyverno_support.known_versions()
    return Product("Kyverno", "kyverno", "chart", minors, supported, kyverno_support.REPOSITORY, releases)


def update(file: StackFile, product: Product) -> Update | None:
    """The newer release for a stack; None if it has the newest, or does not install the product.

    Args:
        file: the stack's file.
        product: what to update.

    Raises:
        OperationError: the release cannot be read, or has another digest than upstream has published.
    """
    own = _section(file.sections, product.section)
    section = _section(file.shared, product.section) | own
    before = section.get("version")
    if not isinstance(before, str) or (after := newest(product.releases, before, product.minors)) is None:
        return None
    if not {"version", "sha256"} <= own.keys():
        return Update(product, before, after, {}, f"{product.section} is in Pulumi.yaml")
    source = own.get(product.source) or {}
    values: dict[tuple[str, ...], str] = {("version",): after.version, ("sha256",): after.sha256}
    for key, value in source.items():
        path = f"{product.section}.{product.source}.{key}"
        if key == "bundle":
            return Update(product, before, after, {}, f"{path} is a local file")
        moved = after.chart if key == "version" else _moved(str(value), before, after, product.releases)
        if moved is None:
            return Update(product, before, after, {}, f"{path} does not contain the version")
        values[product.source, key] = moved
    return Update(product, before, after, values)


def _moved(text: str, before: str, after: UpstreamRelease, releases: Sequence[UpstreamRelease]) -> str | None:
    """An address of the newer release; None if the address has no version in it."""
    old, new = before, after.version
    if after.chart:
        old, new = next((each.chart for each in releases if each.version == before), ""), after.chart
    return text.replace(old, new) if old and old in text else None


def _section(sections: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = sections.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _write(file: StackFile, updates: Sequence[Update]) -> None:
    project = described_project(PROJECT)
    path = project.stack_folder / file.name
    with path.open(encoding="utf-8", newline="") as opened:
        text = opened.read()
    # Keys may have the name of the project in front, in two spellings.
    keys = {section_of(key, project.name): key for key in yaml.safe_load(text)["config"]}
    values = {
        ("config", keys[each.product.section], *below): value
        for each in updates
        for below, value in each.values.items()
    }
    with path.open("w", encoding="utf-8", newline="") as opened:
        opened.write(replaced(text, values))


def _report(found: Mapping[str, Sequence[Update]], products: Sequence[Product]) -> str:
    lines = []
    for stack, updates in found.items():
        lines += [f"### {stack}", "", *(each.summary for each in updates), ""]
    for product in products:
        latest = max(product.releases, key=lambda each: each.order, default=None)
        if latest is not None and latest.order[:2] > max(product.minors):
            lines.append(
                f"{product.title} {latest.version} is newer than what this program supports ({product.supported})."
            )
    return "\n".join(lines).strip() or "All stacks have the newest supported releases."


if __name__ == "__main__":
    app(prog_name="python -m operations.release_update")
