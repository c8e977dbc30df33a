"""Whether Flux has applied the place that the files name, after a move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flux_tenancy.components.cluster.client import find_object
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.sync.status import status_of
from flux_tenancy.components.vocabulary.manifests import value_at
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_API
from flux_tenancy.operations.files.described_flux import sync_paths
from flux_tenancy.operations.files.given_values import canonical
from flux_tenancy.operations.tenants.live import LiveTenant

_DEFAULT_FOLDER = "./"


def not_applied(live: LiveTenant, described: Mapping[str, Any]) -> str:
    """Why the syncs of a tenant have not applied yet what the files describe; empty if they have.

    A Kustomization is ready with its previous place until the next update.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    paths = sync_paths(live.name, described)
    for sync in live.syncs:
        name = sync["metadata"]["name"]
        if name in paths and (reason := next(_reasons(live, sync, value_at(described, paths[name]), described), "")):
            return live.said_of(sync, reason)
    return ""


def _reasons(live: LiveTenant, sync: Mapping[str, Any], entry: Any, described: Mapping[str, Any]) -> Iterator[str]:
    spec, wanted = sync["spec"], canonical("--folder", value_at(entry, ("path",)) or _DEFAULT_FOLDER)
    if value_at(entry, ("prune",)) is False and spec.get("prune"):
        yield "Flux still prunes"
    if (folder := spec.get("path", _DEFAULT_FOLDER)) != wanted:
        yield f"Flux applies the folder {printable(str(folder))} and not {wanted}"
    name = value_at(entry, ("source",)) or value_at(described, ("sync", "source"))
    source = _source(live, sync)
    if source is None:
        return
    own = value_at(described, ("sources", name) if name else ("source",))
    for option, key, path in (("--repo", "url", ("url",)), ("--branch", "branch", ("ref", "branch"))):
        given, found = value_at(own, (key,)), value_at(source["spec"], path)
        if given is not None and found is not None and canonical(option, given) != found:
            yield f"Flux fetches {printable(str(found))} and not {printable(str(given))}"
    if (status := status_of(source)).ready != "True":
        yield status.message
    if value_at(source, ("status", "artifact", "revision")) != value_at(sync, ("status", "lastAppliedRevision")):
        yield "Flux has not applied the last revision that it has fetched"


def _source(live: LiveTenant, sync: Mapping[str, Any]) -> dict[str, Any] | None:
    """The GitRepository of a Kustomization, which is in its namespace; sources of other kinds do not move."""
    reference: Mapping[str, Any] = sync["spec"].get("sourceRef", {})
    if reference.get("kind") != GIT_REPOSITORY:
        return None
    metadata = {"name": reference["name"], "namespace": sync["metadata"]["namespace"]}
    return find_object(live.api, {"apiVersion": SOURCE_API, "kind": GIT_REPOSITORY, "metadata": metadata})
