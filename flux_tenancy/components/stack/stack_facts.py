"""What Flux's security profile needs from the other sections of a stack."""

from __future__ import annotations

from flux_tenancy.components.installs.flux.profile import StackFacts
from flux_tenancy.components.stack.checks.plain_http import plain_http
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import key_service_hosts
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantConfig


def stack_facts(config: StackConfig) -> StackFacts:
    """Hosts that the controllers need, and how many objects that occupy a worker the largest tenant may have."""
    identities = [each.workload_identity for each in config.decryptions.values() if each.workload_identity is not None]
    hosts = (host for identity in identities for host in key_service_hosts(identity))
    # A tenant that is onboarded by label has one namespace.
    namespaces = max((_namespaces(tenant, config) for tenant in config.tenants.values()), default=1)
    limits = config.tenancy.limits
    return StackFacts(
        key_services=tuple(dict.fromkeys(hosts)),
        kustomizations=limits.most_kustomizations * namespaces,
        helm_releases=limits.most_helm_releases * namespaces,
        plain_http=plain_http(config),
    )


def _namespaces(tenant: TenantConfig, config: StackConfig) -> int:
    """In how many namespaces Flux applies for a tenant; in those that it makes, only with the release's rights."""
    if config.makes_namespaces and not config.flux.impersonates:
        return 1 + capsule_limits(tenant, config.tenancy).namespaces
    return len(tenant.namespaces)
