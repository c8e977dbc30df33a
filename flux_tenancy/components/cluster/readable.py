"""What a preview does without: what its identity may not read, above all Secrets (`components.cluster.component`).

An update has to know, so there the refusal stays an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import pulumi

from flux_tenancy.components.cluster.client import AccessDenied, find_object
from flux_tenancy.components.vocabulary.manifests import Find, name_of, resource_type

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State

T = TypeVar("T")
D = TypeVar("D")


_SECRET = "Secret"


def if_readable(read: Callable[[], T], otherwise: D) -> T | D:
    """What is read, or something else in a preview by a user who may not read it.

    Raises:
        ClusterUnavailable: the cluster does not answer, or in an update not to this user.
    """
    try:
        return read()
    except AccessDenied:
        if not pulumi.runtime.is_dry_run():
            raise
        return otherwise


def finder(api: client.ApiClient, state: State) -> Find:
    """Looks up objects of the cluster, and Secrets that a preview may not read in the stack's state.

    The state has every Secret of the stack as it was applied; those that sources and syncs refer to are immutable.
    """

    def find(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        wanted = dict(manifest)
        if wanted["kind"] != _SECRET:
            return find_object(api, wanted)
        applied = (each for each in state.outputs(resource_type(wanted)) if name_of(dict(each)) == name_of(wanted))
        return if_readable(lambda: find_object(api, wanted), next(applied, None))

    return find


def readable_only(find: Find) -> Find:
    """A look-up that in a preview finds nothing of a kind that its user may not read.

    Previewers need not be allowed to read kinds that only some stacks have, such as HelmReleases.
    """

    def found(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return if_readable(lambda: find(manifest), None)

    return found
