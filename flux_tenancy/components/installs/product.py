"""A product that a stack installs: its versions and compute resources, its Helm chart, and dry runs that show that it
serves."""

from __future__ import annotations

import io
import re
import tarfile
import time
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pulumi
import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.hooks import NotReady, ready_hook, wait_for
from flux_tenancy.components.config.errors import ONLY_ONE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.pinned_input import PinnedInput, keep, read_pinned
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Quantity, WebUrl
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.config.messages import Wording
    from flux_tenancy.components.vocabulary.manifests import Manifest


_VERSION = re.compile(r"v?(\d+)\.(\d+)\+?(?:\.(\d+))?(?![0-9A-Za-z])")


@dataclass(frozen=True)
class Product:
    """What is known of a product before its release is read.

    Attributes:
        name: name of its section of the configuration, and of its chart and release if it has them.
        area: area of the codes of its messages, e.g. `KYV`.
        namespace: namespace that it is installed in.
        repository: where it is released, each version with its changelog.
        minors: the supported (major, minor) versions.
    """

    title: str
    name: str
    area: str
    namespace: str
    repository: str
    minors: Collection[tuple[int, int]]

    def supports(self, version: str) -> bool:
        return minor(version) in self.minors

    def versions(self) -> str:
        """The supported versions for messages, e.g. `1.19.x`."""
        return ", ".join(f"{major}.{minor_part}.x" for major, minor_part in sorted(self.minors))

    def checked(self, version: str) -> str:
        """A version of the configuration. Raises ValueError: it is not supported."""
        if not self.supports(version):
            raise ValueError(self.unsupported())
        return version

    def own_namespace(self) -> Manifest:
        """The product's own namespace, which enforces the strictest Pod Security Standard."""
        metadata = {"name": self.namespace, "labels": {POD_SECURITY_LABEL: "restricted"}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def unsupported(self) -> Message:
        """What is said of any other version."""
        return Message("FT-CFG-452", f"is not a supported version of {self.title}", f"use {self.versions()}")

    def changelog(self, version: str) -> str:
        """The address where upstream says what is new in a release."""
        return f"{self.repository}/releases/tag/v{version}"


def parse_version(version: str) -> tuple[int, ...]:
    """(major, minor, patch) of `2.9.5` or of an API server's `v1.36.3-eks-1234`; the patch is 0 without one.

    What is not a version is empty, and so before all versions.
    """
    found = _VERSION.match(version)
    return tuple(map(int, found.groups(default="0"))) if found else ()


def minor(version: str) -> tuple[int, int]:
    """(major, minor) of a version. Raises ValueError: it is not a version."""
    major, minor_part, _ = parse_version(version)
    return major, minor_part


Quantities = dict[Literal["cpu", "memory", "ephemeral-storage"], Quantity]


class ControllerResources(Section):
    """Compute resources of one controller, as in a container's `resources`."""

    requests: Quantities = Field(default_factory=dict, description="Reserved resources, e.g. `cpu: 100m`.")
    limits: Quantities = Field(default_factory=dict, description="Maximum resources, e.g. `memory: 1Gi`.")


class UrlOrBundle(Section):
    """Where a release comes from, if not from where it is published."""

    url: WebUrl | None = Field(None, description="URL to fetch it from instead; by default, the published release.")
    bundle: str | None = Field(
        None,
        description="Local file instead, relative to the project or absolute, for clusters without internet access.",
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> UrlOrBundle:
        if self.url is not None and self.bundle is not None:
            raise ValueError(ONLY_ONE(keys="url and bundle"))
        return self


# Inside the project, so that state and previews name the same path on every machine; not in Git.
FOLDER = ".charts"


@dataclass(frozen=True)
class Chart:
    """The chart, digest checked.

    Attributes:
        path: its archive, relative to the project; the file name is the digest, so other content has another path.
    """

    path: str
    version: str


def read_chart(product: Product, version: str, address: str, bundle: str | None, sha256: str, project: Path) -> Chart:
    """The chart that the configuration pins, written into the project.

    Args:
        version: version of the product that it must install.
        address: where to fetch its archive from.
        bundle: path of a local file instead, or None; relative paths start at the project.
        sha256: digest of the archive, 64 hexadecimal digits.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not the
            product's chart, it is for another version of the product, or it cannot be written into the project.
    """
    pinned = PinnedInput(product.name, "chart", address, bundle, sha256, ".tgz")
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
    if installed != version:
        found = installed or "of an unknown version"
        raise pinned.error(
            "version",
            Message(
                f"FT-{product.area}-002",
                f"is {version}, but {pinned.source} installs {product.title} {found}",
                "correct one of them",
            ),
        )
    path = Path(FOLDER, f"{sha256}.tgz")
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


SERVING_SECONDS = 120.0


class NotServing(NotReady):
    """The product is installed but does not serve."""


@dataclass(frozen=True)
class DryRuns:
    """Two objects, never created, that show whether the webhooks of a product serve.

    Its pods become ready before its webhooks are registered, and before the API server knows these.

    Attributes:
        path: the path of such objects in the API.
        refused: what only the product refuses, by what it is called in messages.
        admitted: what the product admits, in the same form.
        denials: how the API server begins the message when one of the product's webhooks has refused an object.
        says: what is said if the product does not serve, with `seconds` and `reason`.
    """

    path: str
    refused: tuple[str, Manifest]
    admitted: tuple[str, Manifest]
    denials: tuple[str, ...]
    says: Wording

    def problem(self, refusal: Callable[[Manifest], str | None]) -> str | None:
        """Why the product does not serve, or None; `refusal` returns why an object would be refused, or None."""
        what, manifest = self.refused
        denied = refusal(manifest)
        if denied is None:
            return f"{what} is not refused"
        if not any(denial in denied for denial in self.denials):
            return f"{what} is refused for another reason: {denied}"
        what, manifest = self.admitted
        reason = refusal(manifest)
        return f"{what} is refused: {reason}" if reason is not None else None


def wait_until_serving(
    dry_runs: DryRuns,
    refusal: Callable[[Manifest], str | None],
    timeout_seconds: float = SERVING_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the product refuses the one object and admits the other. Raises NotServing: not within that time."""
    if reason := wait_for(lambda: dry_runs.problem(refusal), timeout_seconds, clock, sleep):
        raise NotServing(dry_runs.says(seconds=timeout_seconds, reason=reason))


def serving_hook(product: Product, dry_runs: DryRuns, api: client.ApiClient) -> pulumi.ResourceHook:
    """Waits once in a run until the product serves."""
    asked = partial(refusal, api, dry_runs.path)
    return ready_hook(f"{product.name}-serving", lambda: wait_until_serving(dry_runs, asked))
