"""What Flux's security profile needs from the other sections of a stack."""

from __future__ import annotations

from components.flux.profile import StackFacts
from components.stack.config import StackConfig
from components.sync.key_services import key_service_hosts


def stack_facts(config: StackConfig) -> StackFacts:
    """The key management services of the stack's syncs, and how many Kustomizations its largest tenant may have."""
    identities = [each.workload_identity for each in config.decryptions.values() if each.workload_identity is not None]
    hosts = (host for identity in identities for host in key_service_hosts(identity))
    # A tenant that is onboarded by label has one namespace.
    namespaces = max((len(tenant.namespaces) for tenant in config.tenants.values()), default=1)
    return StackFacts(tuple(dict.fromkeys(hosts)), config.tenancy.limits.most_kustomizations * namespaces)
