"""The order in which a release is installed, and back."""

from __future__ import annotations

from dataclasses import dataclass

from components.cluster.manifests import Manifest
from components.flux.config import FluxConfig
from components.flux.controller_rights import is_powerful


@dataclass(frozen=True)
class Phases:
    """A release split into what must stand before the next part is of use.

    `powers` are the bindings to cluster-admin of controllers that no longer need them: while an older installation is
    changed, those that still run have them until their successors are available.
    """

    namespaces: list[Manifest]
    definitions: list[Manifest]
    access: list[Manifest]
    controllers: list[Manifest]
    powers: list[Manifest]


def in_phases(manifests: list[Manifest], config: FluxConfig) -> Phases:
    """Namespaces and custom resource definitions, then access, services and policies, then the controllers."""
    phases = Phases([], [], [], [], [])
    by_kind = {
        "Namespace": phases.namespaces,
        "CustomResourceDefinition": phases.definitions,
        "Deployment": phases.controllers,
    }
    for manifest in manifests:
        if config.impersonates and is_powerful(manifest):
            phases.powers.append(manifest)
        else:
            by_kind.get(manifest["kind"], phases.access).append(manifest)
    return phases
