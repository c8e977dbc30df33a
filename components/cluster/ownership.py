"""What an update of this stack that was killed has made in the cluster without recording it.

The state names the cluster before the first object is created there, and nothing of the program is created in a cluster
that has a Flux or a Kyverno already. So where the state names this cluster, what carries the program's own marks was
made by an update of this stack.
"""

from __future__ import annotations

from typing import Any

from components.cluster.manifests import OWNERSHIP, Manifest
from components.engine.state import State

_PROVIDER_TYPE = "pulumi:providers:kubernetes"
# As whom the provider applies each object, but for what is random in the name.
# Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
_FIELD_MANAGER = "pulumi-kubernetes-"


def carries_marks(metadata: Manifest) -> bool:
    """Whether the program has applied an object, for this stack or another one."""
    annotations = metadata.get("annotations") or {}
    managers: list[dict[str, Any]] = metadata.get("managedFields") or []
    return OWNERSHIP.items() <= annotations.items() and any(
        manager.get("operation") == "Apply" and str(manager.get("manager")).startswith(_FIELD_MANAGER)
        for manager in managers
    )


def names_cluster(state: State, uid: str) -> bool:
    """Whether an update of this stack has begun in a cluster: its provider is made before all that is applied by it."""
    return any(outputs.get("clusterIdentifier") == uid for outputs in state.outputs(_PROVIDER_TYPE))
