"""Taking over a cluster in which `flux bootstrap`, or a person, has put in place before what the stack describes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

import pulumi
from kubernetes import client
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import NotFoundError, ResourceNotFoundError

from components.kubernetes_api import ClusterUnavailable, explaining
from components.manifests import Manifest, name_of
from components.recorded import Recorded

# Kinds whose immutable fields the cluster fills in. Imported, these would pass for the user's own wishes, and an object
# would be replaced for not naming them. Creating one by server-side apply takes over what is there just as well.
_NOT_IMPORTED = frozenset({"Service"})


def adopt(api: client.ApiClient, recorded: Recorded) -> None:
    """Make Pulumi import every object that is there already and is not yet its own, instead of creating it.

    An import reads the object and then changes what differs, so it keeps its uid, a preview shows the differences, and
    what is there already is never replaced. Call this before the first resource.

    Args:
        api: a client for the cluster.
        recorded: what earlier updates of this stack have left; those objects are its own.

    Raises:
        pulumi.RunError: the cluster does not answer, now or when a resource is registered.
    """
    with _told(api):
        cluster = DynamicClient(api)

    def import_existing(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        own = (args.type_, args.name) in recorded.resources
        if own or not _is_importable(args.props):
            return None
        with _told(api):
            if not _exists(cluster, args.props):
                return None
        options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(import_=name_of(args.props)))
        return pulumi.ResourceTransformationResult(args.props, options)

    pulumi.runtime.register_stack_transformation(import_existing)


@contextmanager
def _told(api: client.ApiClient) -> Iterator[None]:
    try:
        with explaining(api):
            yield
    except ClusterUnavailable as error:
        raise pulumi.RunError(str(error)) from None


def _is_importable(properties: object) -> TypeGuard[Manifest]:
    return (
        isinstance(properties, dict)
        and {"apiVersion", "kind", "metadata"} <= properties.keys()
        and properties["kind"] not in _NOT_IMPORTED
    )


def _exists(cluster: DynamicClient, manifest: Manifest) -> bool:
    metadata = manifest["metadata"]
    try:
        resource = cluster.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
        resource.get(name=metadata["name"], namespace=metadata.get("namespace"))
    except (NotFoundError, ResourceNotFoundError):  # no such object, or not even such a kind
        return False
    return True
