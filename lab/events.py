"""Events that the lab's controllers write and those of other clusters do not.

Pods have loopback addresses here, which the API refuses in Endpoints and EndpointSlices; the node agent serves Services
without them. The controllers of both would tell of each refusal in the namespace of the Service, a tenant's among
them. They go on, since Pulumi waits for Endpoints of a Service, be they empty, but may not write events.
"""

from __future__ import annotations

from typing import Any

SILENT_CONTROLLERS = ("system:controller:endpoint-controller", "system:controller:endpointslice-controller")
"""ClusterRoles of the controllers."""

# https://kubernetes.io/docs/reference/access-authn-authz/rbac/#auto-reconciliation
_AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def without_events(role: dict[str, Any]) -> dict[str, Any] | None:
    """A ClusterRole that does not allow events, and that a start of the API server leaves so; None if it is one."""
    rules = role.get("rules") or []
    kept = [rule for rule in rules if "events" not in rule.get("resources", ())]
    if len(kept) == len(rules):
        return None
    metadata = role["metadata"]
    annotations = {**metadata.get("annotations", {}), _AUTOUPDATE: "false"}
    return {**role, "metadata": {**metadata, "annotations": annotations}, "rules": kept}
