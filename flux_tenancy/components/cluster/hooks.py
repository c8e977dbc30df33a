"""Resource hooks by which the engine waits for a state of the cluster that no provider waits for.

If the state is not reached, only that step fails; a preview does not wait, and an unchanged resource runs no hook. None
of them is a delete hook, for which `pulumi destroy` would need `--run-program`.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pulumi

from flux_tenancy.components.cluster.waiting import in_thread
from flux_tenancy.components.vocabulary.manifests import Manifest


class Once:
    """A wait that runs once, when the first step needs it; every step gets its result.

    Args:
        wait: returns once the cluster is in the state, and raises if it is not in time; it may block.
    """

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait
        self._made: asyncio.Future[None] | None = None

    async def __call__(self) -> None:
        """Start the wait, or join it."""
        if self._made is None:
            self._made = asyncio.ensure_future(in_thread(self._wait))
        # A canceled step must not cancel the wait of the others.
        await asyncio.shield(self._made)


def ready_hook(name: str, wait: Callable[[], None]) -> pulumi.ResourceHook:
    """A hook that waits once in a run.

    Args:
        name: name of the hook in the state and in errors.
        wait: as for `Once`.
    """
    once = Once(wait)

    async def ready(_: pulumi.ResourceHookArgs) -> None:
        await once()

    return pulumi.ResourceHook(name, ready)


def before_changes(hooks: Sequence[pulumi.ResourceHook]) -> pulumi.ResourceHookBinding:
    """Runs the hooks before a resource is created or updated."""
    return pulumi.ResourceHookBinding(before_create=list(hooks), before_update=list(hooks))


def after_changes(hook: pulumi.ResourceHook) -> pulumi.ResourceHookBinding:
    """Runs the hook once a resource has been created or updated, and before what depends on it."""
    return pulumi.ResourceHookBinding(after_create=[hook], after_update=[hook])


HooksFor = Callable[[Manifest], pulumi.ResourceHookBinding]
"""The hooks of an object."""


def hooked(*hooks_for: HooksFor) -> Callable[[Manifest], pulumi.ResourceOptions]:
    """The option with all hooks of an object of the cluster; nothing at a Git host has any."""

    def options(manifest: Manifest) -> pulumi.ResourceOptions:
        opts = pulumi.ResourceOptions()
        for each in hooks_for if "apiVersion" in manifest else ():
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(hooks=each(manifest)))
        return opts

    return options
