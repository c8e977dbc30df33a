"""Namespaces that are in the stack's state and no longer in the cluster: offboarding was held, and they were released.

Pulumi does not look at what it has recorded, and would leave such a namespace as it is. One that a tenant is listed
with again is created anew: an annotation that counts is a change, for which the engine is told to replace it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pulumi

from components.cluster.manifests import Manifest, resource_type
from components.engine.state import State

_COUNT = "flux-tenancy/created-again"
_TYPE = resource_type({"apiVersion": "v1", "kind": "Namespace"})


@dataclass(frozen=True)
class LostNamespaces:
    """What has become of the namespaces of earlier updates.

    Attributes:
        state: the stack's state.
        existing: the namespaces that the cluster has; None where the state is of another cluster.
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
        """What the state has inside of a namespace, by name."""
        return sorted(
            found
            for (_, found), outputs in self.state.resources.items()
            # Where the cluster's name is generated, the state's name does not say the namespace.
            if found.startswith(f"{name}/") or (outputs.get("metadata") or {}).get("namespace") == name
        )

    def counted(self, namespace: Manifest) -> Manifest:
        """The namespace, with how often it was created again, if ever."""
        metadata = namespace["metadata"]
        outputs = self.state.resources.get((_TYPE, metadata["name"]), {})
        before = (outputs.get("metadata", {}).get("annotations") or {}).get(_COUNT)
        count = str(int(before or 0) + 1) if self.among([metadata["name"]]) else before
        if count is None:
            return namespace
        return namespace | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | {_COUNT: count}}}

    def options(self, namespace: Manifest) -> pulumi.ResourceOptions:
        """Has the engine create the namespace again where it is lost."""
        if not self.among([namespace["metadata"]["name"]]):
            return pulumi.ResourceOptions()
        return pulumi.ResourceOptions(replace_on_changes=["metadata"], delete_before_replace=True)
