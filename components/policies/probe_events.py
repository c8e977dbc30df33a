"""Removes the events of refused probes, which Pulumi would show as a warning when the probe changes.

Kyverno writes an event of type Warning for each refusal of a policy, and Pulumi's Kubernetes provider shows the events
of an object when it changes the object (`NewEventAggregator` in pkg/await/watchers.go of pulumi-kubernetes).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from components.cluster.client import ClusterUnavailable, ask, explaining
from components.policies.probe import PROBE_NAME

if TYPE_CHECKING:
    from kubernetes import client

# The namespace that has the events of cluster-scoped objects.
EVENTS_PATH = "/api/v1/namespaces/default/events"


def forget_refusals(api: client.ApiClient) -> None:
    """Delete the events of earlier updates' probes.

    If they cannot be deleted, Pulumi shows the warning and goes on.
    """
    with suppress(ClusterUnavailable), explaining(api):
        ask(api, "DELETE", EVENTS_PATH, fieldSelector=f"involvedObject.name={PROBE_NAME}")
