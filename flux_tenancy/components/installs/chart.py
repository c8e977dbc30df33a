"""A product that a stack installs by its Helm chart: the chart as a pinned input, and its release as one resource."""

from __future__ import annotations

import io
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import yaml

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.pinned_input import PinnedInput, keep, read_pinned
from flux_tenancy.components.config.yaml_files import FastLoader

if TYPE_CHECKING:
    from flux_tenancy.components.installs.product import Product
    from flux_tenancy.components.vocabulary.manifests import Manifest


# Inside the project, so that state and previews name the same path on every machine; not in Git.
FOLDER = ".charts"


@dataclass(frozen=True)
class PinnedChart:
    """The chart that a configuration pins.

    Attributes:
        version: version of the product that it must install.
        address: where to fetch its archive from.
        bundle: path of a local file instead, or None; relative paths start at the project.
        sha256: digest of the archive, 64 hexadecimal digits.
    """

    version: str
    address: str
    bundle: str | None
    sha256: str


@dataclass(frozen=True)
class Chart:
    """The chart, digest checked.

    Attributes:
        path: its archive, relative to the project; the file name is the digest, so other content has another path.
    """

    path: str
    version: str


def read_chart(product: Product, wanted: PinnedChart, project: Path) -> Chart:
    """The chart that the configuration pins, written into the project.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not the
            product's chart, it is for another version of the product, or it cannot be written into the project.
    """
    pinned = PinnedInput(product.name, "chart", wanted.address, wanted.bundle, wanted.sha256, ".tgz")
    content = read_pinned(pinned, project)
    metadata = _metadata(content, product.name)
    if metadata is None or metadata.get("name") != product.name:
        raise pinned.error(
            "chart",
            Message(
                f"FT-{product.area}-001",
                f"{pinned.source} is not an archive of {product.title}'s Helm chart",
                "download the chart again, and set its digest",
            ),
        )
    installed = str(metadata.get("appVersion", "")).removeprefix("v")
    if installed != wanted.version:
        found = installed or "of an unknown version"
        raise pinned.error(
            "version",
            Message(
                f"FT-{product.area}-002",
                f"is {wanted.version}, but {pinned.source} installs {product.title} {found}",
                "correct one of them",
            ),
        )
    path = Path(FOLDER, f"{wanted.sha256}.tgz")
    if not keep(project / path, content):
        raise pinned.error(
            "chart",
            Message(
                f"FT-{product.area}-003",
                f"cannot write the chart to {path.parent}/ of the project, where Pulumi reads it",
                "make the folder writable",
            ),
        )
    return Chart(str(path), str(metadata.get("version", "")))


def _metadata(content: bytes, name: str) -> dict[str, Any] | None:
    """The archive's Chart.yaml, or None if there is none."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            file = archive.extractfile(f"{name}/Chart.yaml")
            found = yaml.load(file, FastLoader) if file is not None else None
    except (tarfile.TarError, zlib.error, OSError, EOFError, KeyError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None


RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"

# Enough to go back by hand; each revision is a Secret of several hundred kilobytes.
KEPT_REVISIONS = 3
# Pulled images included, for a rolling update of all replicas.
TIMEOUT_SECONDS = 600


def release(
    product: Product, chart: Chart, values: Manifest, opts: pulumi.ResourceOptions, **inputs: Any
) -> pulumi.CustomResource:
    """Register the release.

    Args:
        values: values of the chart; Pulumi drops an empty list, so that the chart would use its default.
    """
    properties: dict[str, Any] = {
        "name": product.name,
        "namespace": product.namespace,
        "chart": chart.path,
        "values": values,
        "maxHistory": KEPT_REVISIONS,
        "timeout": TIMEOUT_SECONDS,
    }
    # Earlier versions of the program set one after a killed update; without it, Pulumi would upgrade the release.
    opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["description"]))
    return pulumi.CustomResource(RELEASE_TYPE, product.name, properties | inputs, opts)
