"""Events that only the lab's controllers would write.

Pods have loopback addresses in the lab, which the API refuses in Endpoints and EndpointSlices; the node agent serves
Services without them. The controllers of both would report each refusal as an event in the namespace of the Service,
also in tenants' namespaces. They keep running, since Pulumi waits for the Endpoints of a Service, even if these are
empty, but without the right to write events.
"""

from __future__ import annotations

from typing import Any

SILENT_CONTROLLERS = ("system:controller:endpoint-controller", "system:controller:endpointslice-controller")
"""ClusterRoles of the controllers."""

# https://kubernetes.io/docs/reference/access-authn-authz/rbac/#auto-reconciliation
_AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def without_events(role: dict[str, Any]) -> dict[str, Any] | None:
    """A ClusterRole without rights to events, which the API server does not restore; None if it has none already."""
    rules = role.get("rules") or []
    kept = [rule for rule in rules if "events" not in rule.get("resources", ())]
    if len(kept) == len(rules):
        return None
    metadata = role["metadata"]
    annotations = {**metadata.get("annotations", {}), _AUTOUPDATE: "false"}
    return {**role, "metadata": {**metadata, "annotations": annotations}, "rules": kept}
