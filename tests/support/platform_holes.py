"""Holes about the platform (`platform_holes.yaml`), and how each is made and undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from flux_tenancy.components.cluster.client import ask, get, path_of
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.drift.differences import What

_JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True)
class PlatformHole:
    """A hole.

    Attributes:
        name: what is done.
        object: what is reported.
        around: what a new object needs beside it.
        change: a JSON Patch of the object; None deletes it, and an empty one creates it.
        field: the field that drift reports; empty for the whole object.
    """

    name: str
    object: Manifest
    around: tuple[Manifest, ...]
    change: list[Mapping[str, Any]] | None
    field: str

    @property
    def finding(self) -> tuple[str, str, str]:
        """How drift reports it: namespace, kind and name."""
        metadata = self.object["metadata"]
        return metadata.get("namespace", ""), self.object["kind"], metadata["name"]

    @property
    def what(self) -> set[What]:
        if self.change is None:
            return {What.MISSING}
        return {What.CHANGED, What.ADDED} if self.change else {What.FOREIGN}

    def make(self, api: client.ApiClient) -> None:
        """Make the hole."""
        path = path_of(self.object)
        if self.change is None:
            ask(api, "DELETE", path)
        elif self.change:
            ask(api, "PATCH", path, self.change, content_type=_JSON_PATCH)
        else:
            for each in (*self.around, self.object):
                ask(api, "POST", path_of(each).rpartition("/")[0], _with_owners(api, each))

    @contextmanager
    def made(self, api: client.ApiClient, restore: Callable[[Manifest], None]) -> Iterator[None]:
        """The cluster with the hole; afterwards, new objects are deleted, and others restored."""
        try:
            self.make(api)
            yield
        finally:
            if self.change == []:
                for each in (*self.around, self.object):
                    ask(api, "DELETE", path_of(each), {"gracePeriodSeconds": 0})
            else:
                restore(self.object)


def _with_owners(api: client.ApiClient, manifest: Manifest) -> Manifest:
    """An object whose owners have the uid that they have in the cluster."""
    metadata = manifest["metadata"]
    owners = [
        each | {"uid": get(api, path_of({**each, "metadata": {**metadata, "name": each["name"]}}))["metadata"]["uid"]}
        for each in metadata.get("ownerReferences", ())
    ]
    return {**manifest, "metadata": metadata | {"ownerReferences": owners}}


def _hole(row: Mapping[str, Any]) -> PlatformHole:
    if "plant" in row:
        return PlatformHole(row["name"], row["plant"], tuple(row.get("with", ())), [], "")
    return PlatformHole(row["name"], row["of"], (), row["change"], row.get("field", ""))


_ROWS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
HOLES = [*map(_hole, _ROWS["holes"])]
HARMLESS: list[Manifest] = _ROWS["harmless"]
"""Objects of others that reach neither a tenant nor the platform."""
