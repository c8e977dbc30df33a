"""Namespaces that are in the stack's state and no longer in the cluster, as after a blocked offboarding.

Pulumi does not read what is in its state from the cluster, and would not create such a namespace again. If a tenant is
listed with it again, an annotation with a counter changes, on which the engine replaces the namespace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.vocabulary.manifests import Manifest, resource_type

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State

CREATED_AGAIN = "flux-tenancy/created-again"
"""The annotation of a namespace with the counter, which decides nothing else."""
_TYPE = resource_type({"apiVersion": "v1", "kind": "Namespace"})


@dataclass(frozen=True)
class LostNamespaces:
    """The namespaces of earlier updates.

    Attributes:
        state: the stack's state.
        existing: the namespaces in the cluster; None if the state is of another cluster.
    """

    state: State
    existing: Collection[str] | None

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of the namespaces that are in the state and not in the cluster."""
        if self.existing is None:
            return []
        own = self.state.names(_TYPE)
        return [name for name in names if name in own and name not in self.existing]

    def contents(self, name: str) -> list[str]:
        """The names of the resources in a namespace that are in the state."""
        return sorted(
            found
            for (_, found), outputs in self.state.resources.items()
            # The name of a resource with a generated object name does not contain the namespace.
            if found.startswith(f"{name}/") or (outputs.get("metadata") or {}).get("namespace") == name
        )

    def counted(self, namespace: Manifest) -> Manifest:
        """The namespace, with an annotation of how often it was created again, if ever."""
        metadata = namespace["metadata"]
        outputs = self.state.resources.get((_TYPE, metadata["name"]), {})
        before = (outputs.get("metadata", {}).get("annotations") or {}).get(CREATED_AGAIN)
        times = (
            int(before) if before is not None and str(before).isdecimal() else 0
        )  # Anybody may have changed it before a refresh.
        count = str(times + 1) if self.among([metadata["name"]]) else before
        if count is None:
            return namespace
        return namespace | {
            "metadata": metadata | {"annotations": metadata.get("annotations", {}) | {CREATED_AGAIN: count}}
        }

    def options(self, namespace: Manifest) -> pulumi.ResourceOptions:
        """Makes the engine create the namespace again if it is lost."""
        if not self.among([namespace["metadata"]["name"]]):
            return pulumi.ResourceOptions()
        return pulumi.ResourceOptions(replace_on_changes=["metadata"], delete_before_replace=True)
