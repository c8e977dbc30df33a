"""The objects of a cluster, read once: by type, and of Secrets only the metadata."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import METADATA_LIST, WORKERS, collection_of, items
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.vocabulary.manifests import Manifest

NAMESPACE = "kubernetes:core/v1:Namespace"
SECRET = "kubernetes:core/v1:Secret"
QUOTA = "kubernetes:core/v1:ResourceQuota"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
NATIVE_POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
_FORBIDDEN = 403

Lists = Mapping[str, Sequence[Manifest]]
"""Objects by Pulumi's type token, each with its kind."""


def read_lists(
    api: client.ApiClient, types: Iterable[str], unread: list[str] | None = None, namespaces: Collection[str] = ()
) -> Lists:
    """All objects of some types; none of a kind that the cluster does not know.

    Args:
        unread: gets the types that this user may not list; without it, they are an error.
        namespaces: only the objects in these; if empty, in the whole cluster.

    Raises:
        ApiException: the API server does not let the user see them.
    """

    def read(type_: str) -> list[Manifest] | None:
        path = present(collection_of(type_), "each is an object of the cluster")
        root, _, plural = path.rpartition("/")
        paths = [f"{root}/namespaces/{each}/{plural}" for each in sorted(namespaces)] or [path]
        group_version, _, kind = type_.removeprefix("kubernetes:").rpartition(":")
        own_type = {"apiVersion": group_version.removeprefix("core/"), "kind": kind}
        query = {"accept": METADATA_LIST} if type_ == SECRET else {}
        try:
            return [each | own_type for path in paths for each in items(api, path, **query)]
        except ApiException as error:
            if unread is None or error.status != _FORBIDDEN:
                raise
            return None

    ordered = sorted(set(types))
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = dict(zip(ordered, pool.map(read, ordered), strict=True))
    if unread is not None:
        unread += [type_ for type_, found in answers.items() if found is None]
    return {type_: found for type_, found in answers.items() if found is not None}
