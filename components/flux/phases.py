"""The order in which a release is installed, and back."""

from __future__ import annotations

from dataclasses import dataclass

from components.manifests import Manifest


@dataclass(frozen=True)
class Phases:
    """A release split into what must stand before the next part is of use."""

    namespaces: list[Manifest]
    definitions: list[Manifest]
    access: list[Manifest]
    controllers: list[Manifest]


def in_phases(manifests: list[Manifest]) -> Phases:
    """Namespaces and custom resource definitions, then access, services and policies, then the controllers."""
    phases = Phases([], [], [], [])
    by_kind = {
        "Namespace": phases.namespaces,
        "CustomResourceDefinition": phases.definitions,
        "Deployment": phases.controllers,
    }
    for manifest in manifests:
        by_kind.get(manifest["kind"], phases.access).append(manifest)
    return phases
