"""FluxInstall: a pinned Flux release, locked down, in the order in which it can work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.configuration import FluxConfig
from components.flux.phases import in_phases
from components.flux.profile import configured
from components.manifests import Manifest, register

# A controller starts within seconds; one that crashes or finds no room should be told of before a coffee is cold.
AVAILABLE = pulumi.CustomTimeouts(create="5m", update="5m")


@dataclass(frozen=True)
class FluxInstallArgs:
    """What FluxInstall needs.

    Attributes:
        config: the `flux` section of the stack.
        release: the objects of that release, digest already checked (`components.flux.release.read_release`).
        before: what the controllers need in namespaces that exist already, as those of an installation do that is
            changed.
    """

    config: FluxConfig
    release: Sequence[Manifest]
    before: Sequence[pulumi.Resource] = ()


class FluxInstall(pulumi.ComponentResource):
    """Flux's custom resource definitions, access rules and controllers.

    Depend on this component to come after controllers that are really available, and to be removed before them.

    Attributes:
        version: the installed release.
        profile: the security profile in force.
    """

    version: pulumi.Output[str]
    profile: pulumi.Output[str]

    def __init__(self, name: str, args: FluxInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:FluxInstall", name, None, opts)
        phases = in_phases(configured(args.release, args.config), args.config)
        namespaces = self._phase(phases.namespaces, after=[])
        definitions = self._phase(phases.definitions, after=namespaces)
        access = self._phase(phases.access, after=[*namespaces, *definitions])
        controllers = self._phase(phases.controllers, after=[*access, *args.before])
        self._phase(phases.powers, after=controllers)
        self.version = pulumi.Output.from_input(args.config.version)
        self.profile = pulumi.Output.from_input(args.config.profile.value)
        self.register_outputs({"version": self.version, "profile": self.profile})

    def _phase(self, manifests: list[Manifest], after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after), custom_timeouts=AVAILABLE)
        return [register(manifest, opts) for manifest in manifests]
