"""What the features of one tenant plan from, and the names and labels that all of its objects share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flux_tenancy.components.vocabulary.names import TENANT_LABEL, ObjectMeta

if TYPE_CHECKING:
    from flux_tenancy.components.git.source import GitAccess
    from flux_tenancy.components.sources.objects import AnySource
    from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class TenantScope:
    """One tenant, and what of its stack its objects depend on.

    Attributes:
        config: its configuration in this stack, with the sources that are shared with it.
        default_account: the service account that Flux uses for objects that name none.
        access: what all Git sources of the stack share.
        rights: by namespace, what lets Flux's controllers act there; empty if they are cluster-admin.
        provider_api: the API of Alerts and Providers.
        lane: the lane whose controllers serve it; empty if tenants share the platform's controllers.
    """

    name: str
    config: TenantConfig
    tenancy: TenancyConfig
    default_account: str
    access: GitAccess
    rights: Mapping[str, Sequence[Manifest]]
    provider_api: str
    lane: str

    @property
    def account(self) -> str:
        """The service account that Flux impersonates."""
        return service_account_name(self.name, self.tenancy, self.config)

    @property
    def subject(self) -> dict[str, str]:
        """The service account, as a binding names it."""
        return {"kind": "ServiceAccount", "name": self.account, "namespace": self.config.home}

    @property
    def home(self) -> ObjectMeta:
        """Metadata of the objects in its home."""
        return source_meta(self.name, self.config)

    @property
    def places(self) -> list[ObjectMeta]:
        """Metadata of the objects in each of its namespaces."""
        return [tenant_meta(self.name, namespace) for namespace in self.config.namespace_names]

    @property
    def undelegated(self) -> list[str]:
        """The namespaces in which Flux applies everything as the tenant's own account."""
        delegated = self.config.delegated_namespaces
        return [each for each in self.config.namespace_names if each not in delegated]


def service_account_name(tenant: str, tenancy: TenancyConfig, config: TenantConfig | None = None) -> str:
    """The service account that Flux impersonates for a tenant; `config` is None for one that is not listed."""
    own = config.service_account_name if config is not None else None
    return own or tenancy.service_account_name or tenant


def tenant_meta(tenant: str, namespace: str) -> ObjectMeta:
    """Metadata of the tenant's objects in one of its namespaces."""
    return ObjectMeta(name=tenant, namespace=namespace, labels={TENANT_LABEL: tenant})


def source_meta(tenant: str, config: TenantConfig) -> ObjectMeta:
    """Metadata of the tenant's source and sync and of all objects that belong to them."""
    return tenant_meta(tenant, config.home)


def further_source_meta(tenant: str, config: TenantConfig, name: str) -> ObjectMeta:
    """Metadata of one of the tenant's further sources, or of a release, and of all objects that belong to it."""
    return replace(source_meta(tenant, config), name=name, owner=tenant)


def all_sources(tenant: str, config: TenantConfig) -> Iterator[tuple[ObjectMeta, AnySource]]:
    """Each source of a tenant with the metadata of its objects."""
    if config.source is not None:
        yield source_meta(tenant, config), config.source
    for name, source in config.sources.items():
        yield further_source_meta(tenant, config, name), source
