"""Whether the cluster counts what a quota limits.

Until it does, it refuses every object of such a kind: `status unknown for quota`. Kinds of custom resources that are
new to a cluster are counted only once its controller-manager has looked for new kinds, which it does every 30 seconds.

Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from components.waiting import wait_for

TIMEOUT_SECONDS = 120.0


class NotCounting(Exception):
    """The quota is there, and the cluster does not count yet what it limits."""


def wait_until_counting(
    read: Callable[[], Mapping[str, Any]],
    counted: Collection[str],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until a ResourceQuota says how many there are of some of the things that it limits.

    Args:
        read: the quota as the cluster has it.
        counted: what has to be counted, e.g. `count/kustomizations.kustomize.toolkit.fluxcd.io`.
        timeout_seconds: how long that may take.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.

    Raises:
        NotCounting: it has not come to that in time.
    """

    def missing() -> str | None:
        used = read().get("status", {}).get("used", {})
        return ", ".join(sorted(set(counted).difference(used))) or None

    if uncounted := wait_for(missing, timeout_seconds, clock, sleep):
        raise NotCounting(
            f"the cluster has not begun to count {uncounted} within {timeout_seconds:.0f} s, and refuses such objects "
            "until it does; look whether its kube-controller-manager is well"
        )
