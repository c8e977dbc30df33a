"""Field managers other than Pulumi that own fields of a tenant's source and sync.

Server-side apply removes a field only when its last owner no longer applies it. So a field that another manager has
applied, too, before the policies were enforced, would stay when the stack no longer sets it.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import APPLY_PATCH, ClusterUnavailable, ask, explaining, path_of
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State

# Output of each resource in which the provider records its field manager.
_OWN_MANAGER = "__fieldManager"

CoOwner = tuple[Manifest, str]
"""An object of the platform, and the name of a field manager that has applied it."""


TAKEN_OVER = Wording("FT-CLU-010", "{whose} owns parts of its spec; the update {when} them over")


def co_owners(objects: Iterable[Manifest], state: State) -> Iterator[CoOwner]:
    """The field managers other than Pulumi that have applied a spec of this stack."""
    for each in objects:
        own = state.resources.get((resource_type(each), name_of(each)), {}).get(_OWN_MANAGER)
        if own is None:
            continue
        for entry in each["metadata"].get("managedFields", ()):
            manager = entry.get("manager", "")  # A tenant may write an entry without one.
            if entry["operation"] == "Apply" and manager != own and "f:spec" in (entry.get("fieldsV1") or {}):
                yield each, manager


def take_back(api: client.ApiClient, owners: Iterable[CoOwner]) -> None:
    """Make Pulumi the only owner again, and warn about each other one; a preview only warns."""
    for manifest, manager in owners:
        whose = f"{manifest['kind']} {name_of(manifest)}: field manager {printable(manager)!r}"
        if pulumi.runtime.is_dry_run():
            log.warn(TAKEN_OVER(whose=whose, when="takes"))
            continue
        try:
            relinquish(api, manifest, manager)
        except ClusterUnavailable as error:
            log.warn(
                Message(
                    "FT-CLU-012",
                    f"{whose} owns parts of its spec, and keeps fields that the stack no longer sets: {error}",
                )
            )
        else:
            log.warn(TAKEN_OVER(whose=whose, when="has taken"))


def relinquish(api: client.ApiClient, manifest: Manifest, manager: str) -> None:
    """Apply an empty object as that manager: fields that only it owned are removed, shared ones stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    metadata = {key: manifest["metadata"][key] for key in ("name", "namespace") if key in manifest["metadata"]}
    body = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata}
    with explaining(api):
        ask(api, "PATCH", path_of(body), body, content_type=APPLY_PATCH, fieldManager=manager, force="true")
