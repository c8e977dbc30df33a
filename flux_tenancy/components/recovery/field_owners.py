"""Field managers other than Pulumi that own fields of a tenant's source and sync.

Server-side apply removes a field only when its last owner no longer applies it. So a field that another manager has
applied, too, before the policies were enforced, would stay when the stack no longer sets it.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import APPLY_PATCH, ClusterUnavailable, ask, explaining, path_of
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State

# Output of each resource in which the provider records its field manager.
_OWN_MANAGER = "__fieldManager"


@dataclass(frozen=True)
class CoOwner:
    """A field manager of an object that belongs to the platform.

    Attributes:
        manifest: API version, kind and metadata of the object.
        manager: name of the field manager.
    """

    manifest: Manifest
    manager: str

    def message(self, wording: Wording, **fields: object) -> Message:
        """A message about this object and its field manager."""
        return wording(
            kind=self.manifest["kind"], name=name_of(self.manifest), manager=printable(self.manager), **fields
        )


def co_owner(manifest: Manifest, manager: str) -> CoOwner:
    """A field manager of an object, of which only the identity is kept."""
    metadata = {key: manifest["metadata"][key] for key in ("name", "namespace") if key in manifest["metadata"]}
    return CoOwner({"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata}, manager)


def co_owners(objects: Iterable[Manifest], state: State) -> list[CoOwner]:
    """The field managers other than Pulumi that have applied a spec of this stack.

    Args:
        objects: sources and Kustomizations as the cluster has them.
        state: the stack's state; objects that are not in it are left alone.
    """
    found = []
    for each in objects:
        own = state.resources.get((resource_type(each), name_of(each)), {}).get(_OWN_MANAGER)
        if own is None:
            continue
        for entry in each["metadata"].get("managedFields", ()):
            manager = entry.get("manager", "")  # A tenant may write an entry without one.
            if entry["operation"] == "Apply" and manager != own and "f:spec" in (entry.get("fieldsV1") or {}):
                found.append(co_owner(each, manager))
    return found


def take_back(api: client.ApiClient, owners: Iterable[CoOwner]) -> None:
    """Make Pulumi the only owner again, and warn about each other one; a preview only warns."""
    for owner in owners:
        if pulumi.runtime.is_dry_run():
            log.warn(
                owner.message(
                    Wording(
                        "FT-CLU-010",
                        "{kind} {name}: field manager {manager!r} owns parts of its spec; the update takes them over",
                    )
                )
            )
            continue
        try:
            relinquish(api, owner)
        except ClusterUnavailable as error:
            log.warn(
                owner.message(
                    Wording(
                        "FT-CLU-012",
                        "{kind} {name}: field manager {manager!r} owns parts of its spec, and keeps fields that "
                        "the stack no longer sets: {reason}",
                    ),
                    reason=error,
                )
            )
        else:
            log.warn(
                owner.message(
                    Wording(
                        "FT-CLU-011",
                        "{kind} {name}: field manager {manager!r} owned parts of its spec; the update has taken "
                        "them over",
                    )
                )
            )


def relinquish(api: client.ApiClient, owner: CoOwner) -> None:
    """Apply an empty object as that manager: fields that only it owned are removed, shared ones stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    query = {"fieldManager": owner.manager, "force": "true"}
    with explaining(api):
        ask(api, "PATCH", path_of(owner.manifest), owner.manifest, content_type=APPLY_PATCH, **query)
