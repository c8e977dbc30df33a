"""The order in which a release is installed; it is removed in reverse."""

from __future__ import annotations

from dataclasses import dataclass

from components.flux.config import FluxConfig
from components.flux.controller_rights import is_powerful
from components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class Phases:
    """The objects of a release, split into the phases in which they are created.

    `powers` are bindings to cluster-admin that the controllers no longer need. When an older installation is updated,
    its running controllers keep them until the new ones are available.
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
