"""Removes the events of refused probes, which Pulumi would show as a warning when the probe changes.

Kyverno writes an event of type Warning for each refusal of a policy, and Pulumi's Kubernetes provider shows the events
of an object when it changes the object (`NewEventAggregator` in pkg/await/watchers.go of pulumi-kubernetes).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from components.cluster.client import ClusterUnavailable, ask, explaining
from components.policies.probe import PROBE_NAME

if TYPE_CHECKING:
    from kubernetes import client

# The namespace that has the events of cluster-scoped objects.
EVENTS_PATH = "/api/v1/namespaces/default/events"
# The provider has the events from a watch, and learns of their deletion a moment later.
_WATCH_SECONDS = 2.0


def forget_refusals(api: client.ApiClient, sleep: Callable[[float], None] = time.sleep) -> None:
    """Delete the events of earlier updates' probes, and wait until the provider's watch has seen that.

    If they cannot be deleted, Pulumi shows the warning and goes on.

    Args:
        api: a client for the cluster.
        sleep: waits for a number of seconds.
    """
    with suppress(ClusterUnavailable), explaining(api):
        deleted = ask(api, "DELETE", EVENTS_PATH, fieldSelector=f"involvedObject.name={PROBE_NAME}")
        if json.loads(deleted.data).get("items"):
            sleep(_WATCH_SECONDS)
