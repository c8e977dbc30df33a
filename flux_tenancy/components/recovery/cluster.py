"""What an update finds in the cluster because an earlier one did not end as it should, or because others own fields.

Server-side apply removes a field only when its last owner no longer applies it. So a field that another manager has
applied, too, before the policies were enforced, would stay when the stack no longer sets it.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/

Leftover objects have generated names and were created by an update that was killed before it recorded them in the
state. The next update generates other names, and the one after that deletes what nothing refers to any more. They are
Services whose names no tenant can guess, and Secrets of sources, syncs and notifications: copies of credentials that
would stay for ever, after each kill, since `flux-tenancy up` writes the state only at its end.

Helm refuses to go on after a killed release. Nothing is lost by its records, so an update stops and says how to clear
them (docs/troubleshooting.md#an-update-was-killed).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import (
    APPLY_PATCH,
    METADATA_LIST,
    ClusterFacts,
    ClusterUnavailable,
    ask,
    delete,
    explaining,
    items,
    path_of,
)
from flux_tenancy.components.cluster.component import names_cluster
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.config.yaml_files import walk
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.installs.flux.egress import ARTIFACT_NAME
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.plan import carries_marks
from flux_tenancy.components.sync.notifications import BETA_PROVIDER_API, PROVIDER_API, SECRET_NAME
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, GENERATED_SUFFIX, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.installs.product import Product


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


_OF_NOTIFICATION = re.compile(SECRET_NAME)
_SECRET = re.compile(f".+-{GENERATED_SUFFIX}|{SECRET_NAME}")

Metadata = Mapping[str, Any]


def read_leftover_objects(
    api: client.ApiClient, cluster: ClusterFacts, syncs: Iterable[Mapping[str, Any]], state: State
) -> list[str]:
    """The API paths of the leftover objects in the cluster.

    Services are only read while the state has no controller, since controllers are created after all Services.

    Args:
        syncs: its sources and Kustomizations; an object that they refer to is in use and no leftover.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    if not names_cluster(state, cluster.uid):
        return []
    in_flux = f"/api/v1/namespaces/{FLUX_NAMESPACE}"
    installed = any(name.startswith(f"{FLUX_NAMESPACE}/") for name in state.names("kubernetes:apps/v1:Deployment"))
    with explaining(api):
        services = [] if installed else items(api, f"{in_flux}/services", accept=METADATA_LIST)
        secrets = [
            *items(api, "/api/v1/secrets", labelSelector=TENANT_LABEL, accept=METADATA_LIST),
            *items(api, f"{in_flux}/secrets", accept=METADATA_LIST),
        ]
        notifying = any(_OF_NOTIFICATION.fullmatch(each["metadata"]["name"]) for each in secrets)
        # The cluster may still have the Flux from before an upgrade; a version serves one of them or both.
        apis = (PROVIDER_API, BETA_PROVIDER_API) if notifying else ()
        providers = [each for version in apis for each in items(api, f"/apis/{version}/providers")]
    return [
        *_paths_of("services", leftover_services((each["metadata"] for each in services), state)),
        *_paths_of("secrets", leftover_secrets((each["metadata"] for each in secrets), [*syncs, *providers], state)),
    ]


def leftover_services(services: Iterable[Metadata], state: State) -> list[Metadata]:
    """The Services that the program has applied and that are not in the state."""
    return _unrecorded(services, ARTIFACT_NAME, _recorded_names(state, "kubernetes:core/v1:Service"))


def leftover_secrets(secrets: Iterable[Metadata], syncs: Iterable[Mapping[str, Any]], state: State) -> list[Metadata]:
    """The Secrets that the program has applied, that are not in the state, and that nothing of Flux refers to.

    A replaced Secret whose deletion is pending is not in the state either, and Flux may still read it.
    """
    # A reference may be in any field, and a generated name is no other text.
    used = {
        (sync["metadata"]["namespace"], text)
        for sync in syncs
        for _, text in walk(sync["spec"])
        if isinstance(text, str)
    }
    known = _recorded_names(state, "kubernetes:core/v1:Secret")
    return _unrecorded(secrets, _SECRET, known | used)


def clear_objects(api: client.ApiClient, paths: Iterable[str]) -> None:
    """Delete the leftover objects; a preview deletes nothing.

    Raises:
        pulumi.RunError: the cluster refuses or does not answer.
    """
    if pulumi.runtime.is_dry_run():
        return
    try:
        with explaining(api):
            for path in paths:
                delete(api, path)
    except ClusterUnavailable as error:
        raise run_error(error) from None


def _recorded_names(state: State, kind: str) -> set[tuple[str, str]]:
    metadata = [outputs.get("metadata", {}) for outputs in state.outputs(kind)]
    return {(each.get("namespace", ""), each.get("name", "")) for each in metadata}


def _unrecorded(found: Iterable[Metadata], name: re.Pattern[str], known: set[tuple[str, str]]) -> list[Metadata]:
    return [
        metadata
        for metadata in found
        if name.fullmatch(metadata["name"])
        and (metadata["namespace"], metadata["name"]) not in known
        and carries_marks(dict(metadata))
    ]


def _paths_of(plural: str, found: Iterable[Metadata]) -> list[str]:
    """The API paths of objects of a core kind."""
    return [f"/api/v1/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}" for metadata in found]


_UNFINISHED = "status in (pending-install,pending-upgrade,pending-rollback,uninstalling)"
"""Selects records for as long as Helm works. Source: pkg/release/status.go of Helm 3.18."""


def unfinished_release(
    api: client.ApiClient, product: Product, state: State, stack_file: str, *, wanted: bool
) -> list[Problem]:
    """The records with which Pulumi's next operation would fail.

    Args:
        product: the product, which is the stack's own if the cluster has it.
        state: the stack's state; if it has no release, Pulumi installs it, which any record prevents.
        wanted: whether the stack has the product; if not, nobody would remove one that is half installed.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    known = (RELEASE_TYPE, product.name) in state.resources
    if known and not wanted:
        return []
    records = f"owner=helm,name={product.name}"
    with explaining(api):
        found = items(
            api,
            f"/api/v1/namespaces/{product.namespace}/secrets",
            labelSelector=f"{records},{_UNFINISHED}" if known else records,
            accept=METADATA_LIST,
        )
    if not found:
        return []
    labels = max((each["metadata"]["labels"] for each in found), key=lambda each: int(each["version"]))
    message = (
        Message(
            f"FT-{product.area}-005",
            f"an interrupted update has left {product.title}'s Helm release {labels['status']}",
            f"run `kubectl delete secret -n {product.namespace} -l {records}` and `pulumi up --refresh`, which "
            "installs it over what is there",
        )
        if wanted
        else Message(
            f"FT-{product.area}-004",
            f"is not set, but an interrupted update has left {product.title} half installed",
            f"run `pulumi up` once with {product.name} to finish the installation, then remove it from the stack",
        )
    )
    return [Problem(stack_file, product.name, message)]
