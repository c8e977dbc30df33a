"""Reading from state and cluster what differs from the stack; nothing is changed, and no Secret's content is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.adoption import WORKERS
from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    ClusterUnavailable,
    collection_of,
    explaining,
    items,
    read_facts,
)
from flux_tenancy.components.cluster.ownership import carries_marks
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.tenant.further_access import FurtherBinding, read_further_access, tenants_of
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import KUSTOMIZE_API, TENANT_LABEL
from flux_tenancy.operations.differences import Difference, What, differences, missing, unowned
from flux_tenancy.operations.errors import invalid
from flux_tenancy.operations.foreign_grants import (
    GRANTING,
    applied_by_flux,
    foreign_grants,
    grant_of,
    grants_to_platform,
)
from flux_tenancy.operations.recorded_state import RecordedState
from flux_tenancy.operations.stack_cluster import check_cluster_of, connect_described

_NAMESPACE = "kubernetes:core/v1:Namespace"
SECRET = "kubernetes:core/v1:Secret"
_SYNC = resource_type({"apiVersion": KUSTOMIZE_API, "kind": "Kustomization"})
_CLUSTER_BINDING = f"kubernetes:{RBAC_API}:ClusterRoleBinding"
_FORBIDDEN = 403

Lists = Mapping[str, Sequence[Manifest]]
"""The objects of the cluster by Pulumi's type token."""


@dataclass(frozen=True)
class Drift:
    """What differs from the stack.

    Attributes:
        differences: by object.
        compared: number of objects of the stack that were compared.
        unread: kinds that this user may not list.
    """

    differences: tuple[Difference, ...]
    compared: int
    unread: tuple[str, ...]


def find_drift(recorded: RecordedState, stack: str, project: Path) -> tuple[Drift, client.ApiClient]:
    """Compare the cluster with what the last update of a stack has applied; also returns a client for the cluster.

    Args:
        recorded: the state of the stack.
        stack: name of the stack.
        project: folder of the Pulumi project.

    Raises:
        OperationError: the cluster is another one, or does not answer.
    """
    try:
        api = connect_described(stack, project)
        check_cluster_of(stack, read_facts(api).uid, recorded.cluster)
        with explaining(api):
            lists, unread = read_lists(
                api, {each.type for each in recorded.objects} | GRANTING | {_SYNC, _CLUSTER_BINDING}
            )
        found = [*_compared(recorded, lists), *_unowned(recorded, lists), *_further(api, recorded, lists)]
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    found.sort(key=lambda each: (list(What).index(each.what), each.namespace, each.kind, each.name, each.field))
    compared = sum(each.type in lists for each in recorded.objects)
    return Drift(tuple(found), compared, tuple(sorted(each.rpartition(":")[2] for each in unread))), api


def read_lists(api: client.ApiClient, types: Iterable[str]) -> tuple[Lists, list[str]]:
    """All objects of some types, and the types that this user may not list; of Secrets, only the metadata."""

    def read(type_: str) -> list[Manifest] | None:
        path = collection_of(type_)
        assert path is not None  # Each is an object of the cluster.
        try:
            return items(api, path, **({"accept": METADATA_LIST} if type_ == SECRET else {}))
        except ApiException as error:
            if error.status != _FORBIDDEN:
                raise
            return None

    ordered = sorted(types)
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = dict(zip(ordered, pool.map(read, ordered), strict=True))
    lists = {type_: found for type_, found in answers.items() if found is not None}
    return lists, [type_ for type_ in ordered if type_ not in lists]


def _compared(recorded: RecordedState, lists: Lists) -> Iterator[Difference]:
    """What is missing or different of the stack's own objects."""
    found = {(type_, name_of(each)): each for type_, listed in lists.items() for each in listed}
    for each in recorded.objects:
        if each.type not in lists:
            continue
        now = found.get((each.type, name_of(each.manifest)))
        if now is None or "deletionTimestamp" in now["metadata"]:
            yield missing(each)
        else:
            yield from differences(each, now)


def _unowned(recorded: RecordedState, lists: Lists) -> Iterator[Difference]:
    """Objects that the stack does not know: those that it has applied once, and those that grant something."""
    known = {(each.type, name_of(each.manifest)) for each in recorded.objects} | recorded.pending
    unknown = {
        type_: [each for each in listed if (type_, name_of(each)) not in known] for type_, listed in lists.items()
    }
    of_flux = applied_by_flux(lists.get(_SYNC, ()))
    namespaces = {name_of(each.manifest) for each in recorded.objects if each.type == _NAMESPACE}
    for type_, listed in unknown.items():
        kind = type_.rpartition(":")[2]
        left = [each for each in listed if carries_marks(each["metadata"])]
        yield from (unowned(What.LEFT, kind, each) for each in left)
        if type_ in GRANTING:
            yield from foreign_grants(kind, [each for each in listed if each not in left], namespaces, of_flux)


def _further(api: client.ApiClient, recorded: RecordedState, lists: Lists) -> Iterator[Difference]:
    """ClusterRoleBindings of others that name an account of a tenant or of the platform."""
    if _CLUSTER_BINDING not in lists:
        return
    bindings = {each["metadata"]["name"]: {"kind": "ClusterRoleBinding", **each} for each in lists[_CLUSTER_BINDING]}
    of_tenants = [each.manifest for each in recorded.objects if each.manifest["kind"] == "RoleBinding"]
    tenant_of = {
        name_of(each.manifest): tenant
        for each in recorded.objects
        if each.type == _NAMESPACE
        and (tenant := each.manifest["metadata"].get("labels", {}).get(TENANT_LABEL)) is not None
    }
    own = {name_of(each.manifest) for each in recorded.objects if each.type == _CLUSTER_BINDING}
    tenants = tenants_of(of_tenants, tenant_of)
    others = [each for name, each in bindings.items() if name not in own]
    granted: dict[str, list[FurtherBinding]] = read_further_access(api, tenants, others)
    named = {each.name for found in granted.values() for each in found}
    of_platform = {name_of(each.manifest) for each in recorded.objects if each.type == _NAMESPACE} - tenant_of.keys()
    to_tenants = {name: each for name, each in bindings.items() if printable(name) in named}
    yield from (grant_of("ClusterRoleBinding", each) for each in to_tenants.values())
    yield from grants_to_platform(bindings.values(), own | to_tenants.keys(), of_platform)
