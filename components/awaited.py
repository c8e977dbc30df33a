"""Resources that are of use only once the cluster has come to a state that no provider waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pulumi

from components.kubernetes_api import ClusterUnavailable
from components.waiting import NotReady


def awaited(resource: pulumi.CustomResource, wait: Callable[[], None]) -> pulumi.Output[pulumi.Resource]:
    """The resource, for `depends_on`, as soon as it is there and more has been waited for; a preview waits for nothing.

    Args:
        resource: what has to be there first.
        wait: returns when the cluster has come so far; it may block.

    Raises:
        pulumi.RunError: in the update, before anything that depends on it, where `wait` raises NotReady or
            ClusterUnavailable.
    """

    async def ready(_: str) -> pulumi.Resource:
        if not pulumi.runtime.is_dry_run():
            try:
                await asyncio.to_thread(wait)
            except (NotReady, ClusterUnavailable) as error:
                raise pulumi.RunError(str(error)) from None
        return resource

    return resource.id.apply(ready)
