"""Field managers besides Pulumi that own what the platform says in a tenant's source and sync.

Server-side apply removes a field only when its last owner leaves it out. So what another manager has applied as well,
before the policies stood or while they only audited, would stay when the stack no longer says it.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from kubernetes import client

from components.cluster.client import APPLY_PATCH, ClusterUnavailable, ask, explaining, path_of
from components.cluster.manifests import Manifest, name_of, resource_type
from components.config.printable import printable
from components.engine.state import State

# Where the provider keeps, in the state of each resource, as whom it applies it.
_OWN_MANAGER = "__fieldManager"


@dataclass(frozen=True)
class CoOwner:
    """A field manager of an object that is the platform's.

    Attributes:
        manifest: what names the object: API version, kind, metadata.
        manager: its name.
    """

    manifest: Manifest
    manager: str

    @property
    def told(self) -> str:
        """Whose object it is, and of which."""
        manager = printable(self.manager)
        return f"{self.manifest['kind']} {name_of(self.manifest)}: the field manager {manager!r} owns parts of its spec"


def co_owners(objects: Iterable[Mapping[str, Any]], state: State) -> list[CoOwner]:
    """The managers besides Pulumi that have applied a spec of this stack.

    Args:
        objects: sources and Kustomizations as the cluster has them.
        state: what earlier updates of this stack have left; objects of others are left alone.
    """
    found = []
    for each in objects:
        metadata = {key: each["metadata"][key] for key in ("name", "namespace")}
        manifest = {"apiVersion": each["apiVersion"], "kind": each["kind"], "metadata": metadata}
        own = state.resources.get((resource_type(manifest), name_of(manifest)), {}).get(_OWN_MANAGER)
        if own is None:
            continue
        for entry in each["metadata"].get("managedFields", ()):
            if entry["operation"] == "Apply" and entry["manager"] != own and "f:spec" in entry.get("fieldsV1", {}):
                found.append(CoOwner(manifest, entry["manager"]))
    return found


def take_back(api: client.ApiClient, owners: Iterable[CoOwner]) -> None:
    """Tell of each of them, and leave the fields to Pulumi alone; a preview only tells."""
    for owner in owners:
        if pulumi.runtime.is_dry_run():
            pulumi.log.warn(f"{owner.told}; the update takes them back")
            continue
        try:
            relinquish(api, owner)
        except ClusterUnavailable as error:
            pulumi.log.warn(f"{owner.told}, and what the stack leaves out of it would stay: {error}")
        else:
            pulumi.log.warn(f"{owner.told}; they are taken back")


def relinquish(api: client.ApiClient, owner: CoOwner) -> None:
    """Apply nothing as that manager: what it alone owned goes, and what it shared is the others'.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    query = {"fieldManager": owner.manager, "force": "true"}
    with explaining(api):
        ask(api, "PATCH", path_of(owner.manifest), owner.manifest, content_type=APPLY_PATCH, **query)
