"""What Flux's security profile needs from the other sections of a stack."""

from __future__ import annotations

from components.flux.profile import StackFacts
from components.stack.config import StackConfig
from components.stack.plain_http import plain_http
from components.sync.key_services import key_service_hosts

# Of a tenant that may have any number of them: a release that is in progress keeps its chart in memory.
_UNLIMITED_RELEASES = 16


def stack_facts(config: StackConfig) -> StackFacts:
    """Hosts that the controllers need, and how many objects that occupy a worker the largest tenant may have."""
    identities = [each.workload_identity for each in config.decryptions.values() if each.workload_identity is not None]
    hosts = (host for identity in identities for host in key_service_hosts(identity))
    # A tenant that is onboarded by label has one namespace.
    namespaces = max((len(tenant.namespaces) for tenant in config.tenants.values()), default=1)
    limits = config.tenancy.limits
    releases = limits.most_helm_releases * namespaces
    return StackFacts(
        key_services=tuple(dict.fromkeys(hosts)),
        kustomizations=limits.most_kustomizations * namespaces,
        helm_releases=releases if limits.helm_releases is not None else min(releases, _UNLIMITED_RELEASES),
        plain_http=plain_http(config),
    )
