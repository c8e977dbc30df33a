"""Checks of tenants' openings in the network against the rest of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import NO_EFFECT
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.checks.sources import not_a_tenant
from flux_tenancy.components.tenant.network import METADATA_NETWORKS, TenantNetwork

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.config.networks import NetworkRange
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


def _without_denial(config: StackConfig) -> Iterator[Finding]:
    """Openings in a stack whose tenants may connect to everything."""
    for path, tenant in _openings(config):
        if config.tenancy.network_policy is TenantNetwork.NONE and not tenant.network.is_empty:
            yield (
                path,
                NO_EFFECT(
                    reason="tenancy.networkPolicy is none, so nothing is closed",
                    remedy="set tenancy.networkPolicy to default-deny, or remove the openings",
                ),
            )


def _one_sided(config: StackConfig) -> Iterator[Finding]:
    """Openings between two tenants that only one of them has."""
    for path, tenant in _openings(config):
        name = path[1]
        for key, back, others in (
            ("to", "from", tenant.network.tenants.to),
            ("from", "to", tenant.network.tenants.from_),
        ):
            for index, other in enumerate(others):
                where = (*path, "tenants", key, index)
                if other == name:
                    yield (
                        where,
                        Message(
                            "FT-TEN-523",
                            "is the tenant itself, whose namespaces are always open to each other",
                            "remove it",
                        ).of(other),
                    )
                elif (there := config.tenants.get(other)) is None:
                    yield where, not_a_tenant(config, other)
                else:
                    agreed = there.network.tenants
                    if name not in (agreed.from_ if key == "to" else agreed.to):
                        agreement = f"tenants.{other}.network.tenants.{back}"
                        yield (
                            where,
                            Message(
                                "FT-TEN-521",
                                f"is a tenant that has not listed this one: {agreement} lacks {name}",
                                "have that tenant add it, or remove the opening here",
                            ).of(other),
                        )


def _for_namespaces_of_tenants(config: StackConfig) -> Iterator[Finding]:
    """Openings for a tenant's namespace by its name: that tenant has not agreed to anything."""
    owners = config.tenant_of_namespaces
    for path, tenant in _openings(config):
        for index, opening in enumerate(tenant.network.ingress):
            if (owner := owners.get(opening.from_namespace)) is not None:
                key = (*path, "ingress", index, "fromNamespace")
                yield (
                    key,
                    Message("FT-TEN-524", f"belongs to tenant {owner}, which must agree", "use network.tenants").of(
                        opening.from_namespace
                    ),
                )


def _to_protected_networks(config: StackConfig) -> Iterator[Finding]:
    """Openings that include a cloud's metadata service, or what the stack protects."""
    protected = (
        (METADATA_NETWORKS, "where clouds hand out the credentials of nodes"),
        (config.tenancy.protected_networks, "which tenancy.protectedNetworks protects"),
    )
    for path, tenant in _openings(config):
        for index, opening in enumerate(tenant.network.egress):
            for networks, what in protected:
                if parts := _exposed(opening, networks):
                    message = Wording(
                        "FT-TEN-525", "includes {parts}, {what}", "add {parts} to except, or narrow cidr"
                    )(parts=", ".join(parts), what=what)
                    yield (*path, "egress", index, "cidr"), message.of(opening.cidr)


def _exposed(opening: NetworkRange, networks: tuple[str, ...]) -> list[str]:
    return [part for network in networks for part in opening.exposed(network)]


def _openings(config: StackConfig) -> Iterator[tuple[KeyPath, TenantConfig]]:
    """Each tenant, with the path of its openings."""
    for name, tenant in config.tenants.items():
        yield ("tenants", name, "network"), tenant


NETWORK_CHECKS: tuple[Check, ...] = (_without_denial, _one_sided, _for_namespaces_of_tenants, _to_protected_networks)
