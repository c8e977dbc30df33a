"""Whether a set of policies is in force: the cluster refuses the set's probe, and in the words of this very set."""

from __future__ import annotations

import time
from collections.abc import Callable

from components.cluster.manifests import Manifest
from components.cluster.waiting import NotReady, wait_for
from components.policies.config import PolicyEngine
from components.policies.probe import probe_request, refusal
from components.sync.names import FLUX_NAMESPACE

PROBE_PATH = f"/api/v1/namespaces/{FLUX_NAMESPACE}/configmaps"
# An API server needs a moment, Kyverno some seconds for its webhooks.
TIMEOUT_SECONDS = 120.0


class NotInForce(NotReady):
    """The policies are registered, and requests that they are against still pass."""


def wait_until_in_force(
    engine: PolicyEngine,
    digest: str,
    asked: Callable[[Manifest], str | None],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until an engine acts on a set of policies.

    Args:
        engine: `native` or `kyverno`.
        digest: of the set.
        asked: says why the cluster would not create an object, or None where it would.
        timeout_seconds: how long that may take.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.

    Raises:
        NotInForce: it has not come to that in time.
    """

    def missing() -> str | None:
        answer = asked(probe_request(engine))
        if answer is None:
            return "what they forbid is not refused"
        return None if refusal(digest) in answer else f"it answers for other policies, or for none: {answer}"

    if reason := wait_for(missing, timeout_seconds, clock, sleep):
        raise NotInForce(
            f"the policies of the engine {engine.value} are not in force {timeout_seconds:.0f} s after they were "
            f"applied: {reason}; no tenant is touched before they are"
        )
