"""Pins the newest supported releases of Flux, Kyverno and Capsule in the files of stacks.

It needs neither a cluster nor Pulumi, so that a scheduled job can propose the change as a pull request. Flux is listed
by GitHub's API, the charts of the others by the index of their Helm repository. Either may be a local file, whose
relative addresses start at its folder.

Source: https://docs.github.com/en/rest/releases/releases#list-releases and
https://helm.sh/docs/topics/chart_repository/#the-index-file
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import yaml

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.pinned_input import FETCH_TIMEOUT_SECONDS
from flux_tenancy.components.config.types import SEMANTIC_VERSION
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import Product, parse_version
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.project.described_stack import described_file
from flux_tenancy.project.errors import OperationError


@dataclass(frozen=True)
class Published:
    """A product and what upstream has published of it.

    Attributes:
        product: what a stack installs a pinned release of.
        source: the key of its section that says where the release comes from.
    """

    product: Product
    source: str
    releases: Sequence[UpstreamRelease]


@dataclass(frozen=True)
class Update:
    """A newer release for a stack.

    Attributes:
        before: version that the stack pins.
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


INDEX_UNREADABLE = Wording(
    "FT-OPS-060",
    "{address} cannot be read: {reason}",
    "check the network and the address, or name a mirror with --flux-index, --kyverno-index or --capsule-index",
)

FLUX_INDEX = "https://api.github.com/repos/fluxcd/flux2/releases?per_page=100"
KYVERNO_INDEX = "https://kyverno.github.io/kyverno/index.yaml"
CAPSULE_INDEX = "https://projectcapsule.github.io/charts/index.yaml"
_MANIFEST = "install.yaml"
# Pre-releases have a suffix.
_STABLE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True)
class UpstreamRelease:
    """A release that upstream has published.

    Attributes:
        version: e.g. `2.9.6`.
        file: address of its manifest or chart.
        published: the SHA-256 digest that the index has for the file; empty if it has none.
        chart: version of the chart; empty for Flux.
    """

    version: str
    file: str
    published: str = ""
    chart: str = ""

    @property
    def order(self) -> tuple[int, ...]:
        """What versions are compared by."""
        return parse_version(self.version)

    @cached_property
    def sha256(self) -> str:
        """The digest of the file.

        Raises:
            OperationError: the file cannot be read, or has another digest than the index says.
        """
        digest = hashlib.sha256(read(self.file)).hexdigest()
        if self.published not in ("", digest):
            raise OperationError(
                Message(
                    "FT-OPS-062",
                    f"{self.file} has the SHA-256 digest {digest}, but its index says {self.published}",
                    "do not install this release before you know why",
                )
            )
        return digest


def newest(
    releases: Collection[UpstreamRelease], current: str, minors: Collection[tuple[int, int]]
) -> UpstreamRelease | None:
    """The newest of these releases that is newer than the current one and of a supported minor version; None without.

    Args:
        current: version in use; if it is not a version, all releases are newer.
        minors: the supported (major, minor) versions.
    """
    newer = [each for each in releases if each.order > parse_version(current) and each.order[:2] in minors]
    return max(newer, key=lambda each: each.order, default=None)


def flux_releases(index: str) -> list[UpstreamRelease]:
    """The stable releases in GitHub's list of releases.

    Raises:
        OperationError: the list cannot be read.
    """
    return _listed(index, json.loads, _flux_releases, "GitHub's list of releases")


def chart_releases(index: str, chart: str) -> list[UpstreamRelease]:
    """The stable releases of a chart in a Helm repository's index.

    Raises:
        OperationError: the index cannot be read.
    """
    return _listed(
        index,
        lambda text: yaml.load(text, FastLoader),
        lambda found, index: _chart_releases(found["entries"][chart], index),
        "the index of a Helm repository",
    )


def read(address: str) -> bytes:
    """The content of a file.

    Args:
        address: an http or https URL, or the path of a local file.

    Raises:
        OperationError: it cannot be read.
    """
    try:
        if not _is_url(address):
            return Path(address).expanduser().read_bytes()
        response = requests.get(address, timeout=FETCH_TIMEOUT_SECONDS)
        response.raise_for_status()
    except requests.RequestException as error:
        status = error.response.status_code if error.response is not None else None
        reason = f"the server answers {status}" if status else "the server cannot be reached"
        raise OperationError(INDEX_UNREADABLE(address=address, reason=reason)) from None
    except OSError as error:
        raise OperationError(INDEX_UNREADABLE(address=address, reason=error.strerror)) from None
    return response.content


def _listed(
    index: str,
    parse: Callable[[bytes], Any],
    releases: Callable[[Any, str], Iterator[UpstreamRelease]],
    expected: str,
) -> list[UpstreamRelease]:
    try:
        return list(releases(parse(read(index)), index))
    except (ValueError, yaml.YAMLError, LookupError, TypeError, AttributeError):
        raise OperationError(
            Message(
                "FT-OPS-061",
                f"{index} is not {expected}",
                "name lists of that form with --flux-index, --kyverno-index and --capsule-index",
            )
        ) from None


def _flux_releases(found: Any, index: str) -> Iterator[UpstreamRelease]:
    for release in found:
        version = _stable(release["tag_name"])
        if version is None or release.get("draft") or release.get("prerelease"):
            continue
        for asset in release["assets"]:
            if asset["name"] == _MANIFEST:
                file = _resolved(asset["browser_download_url"], index)
                yield UpstreamRelease(version, file, _digest(asset.get("digest")))


def _chart_releases(entries: Any, index: str) -> Iterator[UpstreamRelease]:
    for entry in entries:
        version, chart = _stable(entry.get("appVersion", "")), _stable(entry["version"])
        if version is not None and chart is not None:
            yield UpstreamRelease(version, _resolved(entry["urls"][0], index), _digest(entry.get("digest")), chart)


def _stable(version: object) -> str | None:
    """The numbers of a stable version; None for any other."""
    return ".".join(found.groups()) if (found := _STABLE.fullmatch(str(version))) else None


def _digest(published: object) -> str:
    found = _DIGEST.fullmatch(str(published))
    return found[1] if found else ""


def _resolved(file: str, index: str) -> str:
    """The address of a file that an index names, relative to the index or absolute."""
    if _is_url(file) or _is_url(index):
        return urljoin(index, file)
    return str(Path(index).expanduser().parent / file)


def _is_url(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https")
