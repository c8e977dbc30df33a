"""Tests whether a set of policies is in force: the cluster refuses the probe with the digest of this set."""

from __future__ import annotations

import time
from collections.abc import Callable

from components.cluster.waiting import NotReady, wait_for
from components.config.messages import Message
from components.policies.config import PolicyEngine
from components.policies.probe import probe_request, refusal
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import FLUX_NAMESPACE

PROBE_PATH = f"/api/v1/namespaces/{FLUX_NAMESPACE}/configmaps"
# The API server needs a moment, Kyverno's webhooks some seconds.
TIMEOUT_SECONDS = 120.0


class NotInForce(NotReady):
    """The policies are registered, but not enforced yet."""


def wait_until_in_force(
    engine: PolicyEngine,
    digest: str,
    asked: Callable[[Manifest], str | None],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until an engine enforces a set of policies.

    Args:
        engine: `native` or `kyverno`.
        digest: of the set.
        asked: returns the cluster's refusal of an object in a dry run, or None if it accepts the object.
        timeout_seconds: how long to wait.
        clock: returns monotonic seconds.
        sleep: sleeps for a number of seconds.

    Raises:
        NotInForce: the policies are not enforced in time.
    """

    def missing() -> str | None:
        answer = asked(probe_request(engine))
        if answer is None:
            return "the cluster accepts an object that they forbid"
        return None if refusal(digest) in answer else f"the cluster answers with another refusal: {answer}"

    if reason := wait_for(missing, timeout_seconds, clock, sleep):
        raise NotInForce(
            Message(
                "FT-POL-001",
                f"the engine {engine.value} does not enforce the policies {timeout_seconds:.0f} s after they were "
                f"applied, so no tenant was changed: {reason}",
                "check that the API server and, for kyverno, Kyverno are healthy, and run the update again",
            )
        )
