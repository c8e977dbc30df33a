"""The releases of Flux, Kyverno and Capsule that upstream has published, from an index or a mirror of it.

Flux is listed by GitHub's API, the charts of the others by the index of their Helm repository. Either may be a local
file, whose relative addresses start at its folder.

Source: https://docs.github.com/en/rest/releases/releases#list-releases and
https://helm.sh/docs/topics/chart_repository/#the-index-file
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import yaml

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.pinned_input import FETCH_TIMEOUT_SECONDS
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.product import parse_version
from flux_tenancy.project.errors import OperationError

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
        releases: the releases.
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
