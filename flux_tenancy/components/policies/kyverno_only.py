"""Policies that only Kyverno offers: those that read registries, and those that generate objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.flux.release import controller_images
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyMode
from flux_tenancy.components.policies.image_signatures import flux_images, tenant_images
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.onboarding import background_rules, onboarding

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.tenant.tenancy_config import TenancyConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


def kyverno_only(
    config: PoliciesConfig, tenancy: TenancyConfig, flux: FluxConfig, release: Iterable[Manifest]
) -> list[Manifest]:
    """Those that the configuration enables.

    Args:
        config: the `policies` section of the stack.
        tenancy: its `tenancy` section.
        flux: its `flux` section.
        release: the objects of the installed Flux release.
    """
    manifests: list[Manifest] = []
    if config.flux_images and (mode := config.mode_of(PolicyName.FLUX_IMAGES)) is not PolicyMode.OFF:
        manifests.append(flux_images(controller_images(release), mode))
    if config.images.signatures and (mode := config.mode_of(PolicyName.TENANT_IMAGES)) is not PolicyMode.OFF:
        enforced = config.mode_of(PolicyName.POD_SIZE) is PolicyMode.ENFORCE
        above = config.maximum_sizes if enforced else None
        manifests.append(tenant_images(config.images.signatures, config.images.registries, mode, above))
    if onboards(config):
        manifests += onboarding(tenancy, flux)
    return manifests


def kyverno_rules(config: PoliciesConfig, flux: FluxConfig) -> list[Manifest]:
    """RBAC rules that Kyverno's background controller needs for them."""
    return background_rules(flux) if onboards(config) else []


def onboards(config: PoliciesConfig) -> bool:
    """Whether a label makes a namespace a tenant's."""
    return config.onboarding and config.mode_of(PolicyName.ONBOARDING) is not PolicyMode.OFF
