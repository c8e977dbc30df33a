"""Named openings in the network of a tenant."""

from __future__ import annotations

from pydantic import Field

from components.config.networks import NetworkPort, NetworkRange
from components.config.section import Section
from components.config.types import DnsLabel, TenantName


class NamespaceOpening(Section):
    """A namespace of the platform whose Pods may connect to the tenant's, e.g. that of an Ingress controller."""

    from_namespace: DnsLabel = Field(description="Its name; not a tenant's.")
    ports: tuple[NetworkPort, ...] = Field((), description="Ports of the tenant's Pods; all by default.")


class TenantsOpening(Section):
    """Other tenants that this one exchanges traffic with; each opening is agreed on in both tenants' files."""

    to: tuple[TenantName, ...] = Field(
        (), description="Tenants whose Pods it connects to; each lists this tenant in its `network.tenants.from`."
    )
    from_: tuple[TenantName, ...] = Field(
        (),
        alias="from",
        description="Tenants whose Pods connect to its own; each lists this tenant in its `network.tenants.to`.",
    )


class NetworkOpenings(Section):
    """What a tenant's Pods may connect to, and who may connect to them, in addition to `default-deny`."""

    ingress: tuple[NamespaceOpening, ...] = Field(
        (), description="Namespaces of the platform that may connect to its Pods."
    )
    tenants: TenantsOpening = Field(default_factory=TenantsOpening, description="Traffic with other tenants.")
    egress: tuple[NetworkRange, ...] = Field((), description="Addresses that its Pods may connect to.")

    @property
    def is_empty(self) -> bool:
        return self == NetworkOpenings()
