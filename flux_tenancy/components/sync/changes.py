"""What an update changes, and which syncs that concerns: their previous status is out of date.

The engine reports each object that it has created or updated through a resource hook, which costs nothing if nothing
changes and does not run in previews. None of them is a delete hook, for which `pulumi destroy` would need
`--run-program`.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.vocabulary.names import (
    HELM_RELEASE,
    KUSTOMIZATION,
    PLATFORM_META,
    SOURCE_RESOURCES,
    TENANT_LABEL,
)

if TYPE_CHECKING:
    from flux_tenancy.components.sync.status import ObjectName

PLATFORM_TYPE = "flux-tenancy:index:PlatformSync"
_KUBERNETES = "kubernetes:"
# Not watched: they change together with the controllers that read them, and are large.
_DEFINITIONS = ("kubernetes:apiextensions.k8s.io/",)
# Kinds that Flux reconciles without a request when their spec changes.
_RECONCILED = frozenset({*SOURCE_RESOURCES, KUSTOMIZATION, HELM_RELEASE})


class Changes:
    """What the update has changed so far."""

    def __init__(self) -> None:
        self._syncs: set[str] = set()
        self._all = False
        self._renewed: set[ObjectName] = set()

    def concern(self, sync: str) -> bool:
        """Whether anything has changed that the status of a sync may depend on."""
        return self._all or sync in self._syncs

    def renewed(self, kind: str, namespace: str, name: str) -> bool:
        """Whether a Flux object was created or its spec changed, so that Flux reconciles it without a request."""
        return (kind, namespace, name) in self._renewed

    def note(self, changed: pulumi.ResourceHookArgs) -> None:
        """Record a created or updated object. This is the callback of the hook."""
        properties = changed.new_inputs or {}
        metadata = properties.get("metadata") or {}
        if PLATFORM_TYPE in changed.urn:
            self._syncs.add(PLATFORM_META.name)
        elif (tenant := (metadata.get("labels") or {}).get(TENANT_LABEL)) is not None:
            self._syncs.add(tenant)
        else:
            # Policies, controllers, roles: each may affect every sync.
            self._all = True
        if properties.get("kind") in _RECONCILED and _generation(changed.old_outputs) != _generation(
            changed.new_outputs
        ):
            self._renewed.add((properties["kind"], metadata["namespace"], metadata["name"]))


def watch_changes(register: Callable[..., pulumi.ResourceHook] = pulumi.ResourceHook) -> Changes:
    """Make the engine report what it changes. Call this before the first resource.

    Args:
        register: creates a hook from a name, a function and options.
    """
    changes = Changes()
    hook = register("changes", changes.note, pulumi.ResourceHookOptions(ignore_errors=True))
    hooks = pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(after_create=[hook], after_update=[hook]))

    def watched(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_KUBERNETES) or args.type_.startswith(_DEFINITIONS):
            return None
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, hooks))

    pulumi.runtime.register_stack_transformation(watched)
    return changes


def _generation(outputs: Mapping[str, Any] | None) -> Any:
    return ((outputs or {}).get("metadata") or {}).get("generation")
