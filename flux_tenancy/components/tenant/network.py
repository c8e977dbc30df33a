"""Openings in a tenant's default-deny: its section, and a NetworkPolicy beside the one that denies: policies add up.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field

from flux_tenancy.components.config.networks import NetworkPort, NetworkRange, egress_rules, port_entries
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, TenantName
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest
    from flux_tenancy.components.vocabulary.names import ObjectMeta


class TenantNetwork(StrEnum):
    """Allowed connections of a tenant's Pods, if the cluster's network enforces NetworkPolicies."""

    NONE = "none"
    DEFAULT_DENY = "default-deny"


class NamespaceOpening(Section):
    """A namespace of the platform whose Pods may connect to the tenant's Pods, e.g. of an Ingress controller."""

    from_namespace: DnsLabel = Field(description="Name of a namespace that belongs to no tenant.")
    ports: tuple[NetworkPort, ...] = Field((), description="Ports of the tenant's Pods; all by default.")


class TenantsOpening(Section):
    """Other tenants that this tenant exchanges traffic with; both tenants' files must list each opening."""

    to: tuple[TenantName, ...] = Field((), description="Tenants that this tenant's Pods may connect to.")
    from_: tuple[TenantName, ...] = Field(
        (), alias="from", description="Tenants whose Pods may connect to this tenant's."
    )


class NetworkOpenings(Section):
    """Connections to and from a tenant's Pods that are allowed in addition to `default-deny`."""

    ingress: tuple[NamespaceOpening, ...] = Field(
        (), description="Namespaces of the platform that may connect to the tenant's Pods."
    )
    tenants: TenantsOpening = Field(
        default_factory=TenantsOpening, description="Traffic with other tenants, which both must list."
    )
    egress: tuple[NetworkRange, ...] = Field((), description="Addresses that the tenant's Pods may connect to.")

    @property
    def is_empty(self) -> bool:
        return self == NetworkOpenings()


NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
"""The label of each namespace with its name, which the API server sets."""

OPENINGS_SUFFIX = "-openings"
"""End of the name of a tenant's NetworkPolicy, after the tenant's name."""

METADATA_NETWORKS = (
    "169.254.0.0/16",
    "fe80::/10",
    # Metadata addresses that are not link-local: of AWS, Google Cloud and Oracle Cloud over IPv6, Alibaba Cloud, Azure.
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "fd00:c1::a9fe:a9fe/128",
    "100.100.100.200/32",
    "168.63.129.16/32",
    # IPv4 addresses in the notation of IPv6.
    "::ffff:0:0/96",
)
"""Networks with a cloud's metadata service, which hands out the credentials of a node."""


def network_openings(meta: ObjectMeta, openings: NetworkOpenings) -> list[Manifest]:
    """The NetworkPolicy with the openings of one namespace; none without openings."""
    if openings.is_empty:
        return []
    ingress = [
        {"from": [_namespaces(NAMESPACE_NAME_LABEL, each.from_namespace)]} | port_entries(each.ports)
        for each in openings.ingress
    ]
    ingress += [{"from": [_namespaces(TENANT_LABEL, tenant)]} for tenant in openings.tenants.from_]
    egress: list[Manifest] = [{"to": [_namespaces(TENANT_LABEL, tenant)]} for tenant in openings.tenants.to]
    egress += egress_rules(openings.egress)
    rules = {"Ingress": ingress, "Egress": egress}
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": meta.metadata(f"{meta.name}{OPENINGS_SUFFIX}"),
            "spec": {
                "podSelector": {},
                "policyTypes": [direction for direction, listed in rules.items() if listed],
                **{direction.lower(): listed for direction, listed in rules.items() if listed},
            },
        }
    ]


def _namespaces(label: str, value: str) -> Manifest:
    return {"namespaceSelector": {"matchLabels": {label: value}}}
