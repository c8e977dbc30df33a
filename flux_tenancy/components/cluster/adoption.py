"""Adoption of a cluster where `flux bootstrap`, or a person, has already created what the stack describes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeGuard

import pulumi

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    WORKERS,
    AccessDenied,
    ClusterUnavailable,
    explaining,
    get,
    items,
)
from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State

# A Service has immutable fields that the cluster fills in: after an import these would count as the user's own inputs,
# and the object would be replaced because the program does not set them. The provider replaces a Secret or ConfigMap
# whose data differs, e.g. a random token after the state was lost, and the engine refuses to replace what it has just
# imported. Server-side apply takes over such objects, too.
_NOT_IMPORTED = frozenset({"ConfigMap", "Secret", "Service"})


async def adopt(api: client.ApiClient, state: State, planned: Iterable[Manifest]) -> None:
    """Make Pulumi import every object that exists already and is not in its state, instead of creating it.

    An import reads the object and then changes what differs, so the object keeps its uid, a preview shows the
    differences, and nothing is replaced. Call this before the first resource.

    All objects of a kind are listed once: for the planned kinds now, in parallel and outside of the event loop; for
    other kinds when the first of them is registered.

    Raises:
        pulumi.RunError: the cluster does not answer, now or when a resource is registered.
    """
    existing = _Existing(api)
    wanted = {
        (manifest["apiVersion"], manifest["kind"])
        for manifest in planned
        if _is_importable(manifest) and (resource_type(manifest), name_of(manifest)) not in state.resources
    }
    with _as_run_error(api):
        await asyncio.to_thread(existing.read, sorted(wanted))

    def import_existing(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        own = (args.type_, args.name) in state.resources
        if own or not _is_importable(args.props):
            return None
        with _as_run_error(api):
            if name_of(args.props) not in existing.names(args.props["apiVersion"], args.props["kind"]):
                return None
        options = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(import_=name_of(args.props)))
        return pulumi.ResourceTransformationResult(args.props, options)

    pulumi.runtime.register_stack_transformation(import_existing)


class _Existing:
    """The objects of a cluster by their names, each kind read once."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        # Read here, since threads of a pool do not know the run that they belong to.
        self._preview = pulumi.runtime.is_dry_run()
        self._plurals = cache(self._read_plurals)
        self.names = cache(self._read_names)

    def read(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Read several kinds, by API version and kind, at the same time."""
        kinds = list(kinds)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(self._plurals, dict.fromkeys(version for version, _ in kinds)))
            list(pool.map(lambda kind: self.names(*kind), kinds))

    def _read_plurals(self, version: str) -> dict[str, str]:
        """Plural of each kind of an API version; none if the cluster does not serve the version."""
        from kubernetes.dynamic.exceptions import NotFoundError

        try:
            found = get(self._api, _root(version))["resources"]
        except NotFoundError:
            return {}
        return {each["kind"]: each["name"] for each in found if "/" not in each["name"]}

    def _read_names(self, version: str, kind: str) -> frozenset[str]:
        """The names of all objects of a kind (`name_of`); only their metadata is requested."""
        plural = self._plurals(version).get(kind)
        if plural is None:
            return frozenset()
        try:
            with explaining(self._api):
                found = items(self._api, f"{_root(version)}/{plural}", accept=METADATA_LIST)
        except AccessDenied:
            if not self._preview:
                raise
            # It then shows Secrets as created that the update imports.
            return frozenset()
        return frozenset(name_of(each) for each in found)


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


@contextmanager
def _as_run_error(api: client.ApiClient) -> Iterator[None]:
    try:
        with explaining(api):
            yield
    except ClusterUnavailable as error:
        raise run_error(error) from None


def _is_importable(properties: object) -> TypeGuard[Manifest]:
    return (
        isinstance(properties, dict)
        and {"apiVersion", "kind", "metadata"} <= properties.keys()
        and properties["kind"] not in _NOT_IMPORTED
        # An object with a generated name cannot exist yet.
        and "name" in properties["metadata"]
    )
