"""Waiting until a cluster reaches a state: by the program, and by hooks of resources.

If the state is not reached, only that step fails; a preview does not wait, and an unchanged resource runs no hook. None
of them is a delete hook, for which `pulumi destroy` would need `--run-program`.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import pulumi

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.vocabulary.manifests import Manifest

POLL_SECONDS = 1.0
# The SDK registers resources in the event loop's own threads and keeps each thread until the step is done. A hook that
# needed one of these threads could wait for its own step.
_THREADS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="waiting")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class NotReady(Exception):
    """The cluster has not reached the state in time; the message says what is missing and where to look."""

    def __str__(self) -> str:
        return coded(self.args[0])


def wait_for(
    missing: Callable[[], str | None],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    poll_seconds: float = POLL_SECONDS,
) -> str | None:
    """Poll until nothing is missing; returns what is still missing at the timeout, or None.

    Args:
        missing: returns what is missing, or None; it is called at least once.
    """
    deadline = clock() + timeout_seconds
    while (reason := missing()) is not None:
        if clock() >= deadline:
            return reason
        sleep(poll_seconds)
    return None


async def in_thread(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Run a blocking function in a thread of its own; for resource hooks, which run on the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(function, *args, **kwargs))


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
