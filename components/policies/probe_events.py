"""The events of refused probes, which would be shown as a warning of the next change of the policies.

Kyverno writes an event of type Warning about a policy that has refused something, and Pulumi's Kubernetes provider
shows those of an object whenever it changes it (`NewEventAggregator` in pkg/await/watchers.go of pulumi-kubernetes).
"""

from __future__ import annotations

from contextlib import suppress

from kubernetes import client

from components.cluster.client import ClusterUnavailable, ask, explaining
from components.policies.probe import PROBE_NAME

# Where the events about cluster-scoped objects are.
EVENTS_PATH = "/api/v1/namespaces/default/events"


def forget_refusals(api: client.ApiClient) -> None:
    """Delete the events that earlier updates have left by asking whether the policies are in force.

    They only inform: where they cannot be deleted, the warning is all that comes of it.
    """
    with suppress(ClusterUnavailable), explaining(api):
        ask(api, "DELETE", EVENTS_PATH, fieldSelector=f"involvedObject.name={PROBE_NAME}")
