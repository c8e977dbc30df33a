"""Objects that a killed update of this stack has created without recording them.

The state contains the cluster's identity before the first object is created, and the program creates nothing in a
cluster that already has a Flux or a Kyverno. So if the state contains this cluster's identity, an update of this stack
has created whatever carries the program's marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.plan import OWNERSHIP

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.vocabulary.manifests import Manifest

_PROVIDER_TYPE = "pulumi:providers:kubernetes"
# Prefix of the provider's field managers; the rest of the name is random.
# Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
FIELD_MANAGER = "pulumi-kubernetes-"


def carries_marks(metadata: Manifest) -> bool:
    """Whether the program has applied an object, for this stack or another one."""
    annotations = metadata.get("annotations") or {}
    return OWNERSHIP.items() <= annotations.items() and bool(applying_managers(metadata))


def applying_managers(metadata: Mapping[str, Any]) -> list[str]:
    """The field managers by which Pulumi has applied an object: the provider draws one when it creates it."""
    managers: list[dict[str, Any]] = metadata.get("managedFields") or []
    names = [str(each.get("manager")) for each in managers if each.get("operation") == "Apply"]
    return [name for name in names if name.startswith(FIELD_MANAGER)]


def names_cluster(state: State, uid: str) -> bool:
    """Whether an update of this stack has started in a cluster: the provider is created before its objects."""
    return any(outputs.get("clusterIdentifier") == uid for outputs in state.outputs(_PROVIDER_TYPE))
