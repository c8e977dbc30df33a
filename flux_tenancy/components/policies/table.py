"""The table of all policies for a stack's configuration, and their objects for each engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flux_tenancy.components.policies.capsule import with_capsule
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.controller_load import controller_load, reconciliation_timeout
from flux_tenancy.components.policies.exceptions import may_be_excepted, with_exceptions
from flux_tenancy.components.policies.fields import allowed_fields
from flux_tenancy.components.policies.finalizers import unheld_deletion
from flux_tenancy.components.policies.helm_storage import release_size
from flux_tenancy.components.policies.ingresses import allowed_hosts, ingress_snippets
from flux_tenancy.components.policies.kinds import allowed_kinds
from flux_tenancy.components.policies.kyverno import kyverno
from flux_tenancy.components.policies.lanes import lane
from flux_tenancy.components.policies.load_balancers import load_balancers
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.native import native
from flux_tenancy.components.policies.notifications import notification_addresses, notification_secrets
from flux_tenancy.components.policies.people import flux_requests
from flux_tenancy.components.policies.pods import pod_identity
from flux_tenancy.components.policies.policy import Policy, Subject
from flux_tenancy.components.policies.probe import digest_of, probe_policy
from flux_tenancy.components.policies.references import (
    no_cross_namespace_references,
    no_kubeconfig,
    own_namespaces,
    reconciliation_interval,
    tenant_service_account,
)
from flux_tenancy.components.policies.reserved import (
    ephemeral_containers,
    platform_objects,
    policy_objects,
    status_writes,
    tenant_access,
    tenant_limits,
    tenant_namespace,
)
from flux_tenancy.components.policies.scheduling import disruption_budgets, node_placement
from flux_tenancy.components.policies.sources import allowed_sources, source_options, verified_sources
from flux_tenancy.components.policies.volumes import pod_volumes, volume_claims, volume_classes
from flux_tenancy.components.policies.workloads import allowed_images, host_access, priority_classes, service_exposure
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig, TenancyMode

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

_DEFAULT_TENANCY = TenancyConfig()


@dataclass(frozen=True)
class PolicySet:
    """The objects of one engine, in the order of registration.

    Attributes:
        manifests: the policies with their bindings.
        digest: of all manifests.
        probe: the objects of the probe (`components.policies.probe`), which come after all others.
    """

    manifests: tuple[Manifest, ...]
    digest: str
    probe: tuple[Manifest, ...]


def policies(
    config: PoliciesConfig, relaxed: Collection[str] = (), tenancy: TenancyConfig = _DEFAULT_TENANCY
) -> tuple[Policy, ...]:
    """All policies that both engines offer, in the order of `PolicyName`.

    Args:
        config: the stack's policies.
        relaxed: names of the policies that exempt what the stack declares for its tenants: grants of a tenant, and
            certificates of its sources.
        tenancy: the settings of all tenants, which say whether these make namespaces, with Capsule.
    """
    table = _table(config, relaxed, tenancy)
    if tenancy.mode is TenancyMode.CAPSULE:
        table = with_capsule(table)
    return tuple(with_exceptions(each) if each.name in relaxed and may_be_excepted(each) else each for each in table)


def _table(config: PoliciesConfig, relaxed: Collection[str], tenancy: TenancyConfig) -> tuple[Policy, ...]:
    makes_namespaces = tenancy.mode is TenancyMode.CAPSULE
    return (
        allowed_sources(config),
        source_options(config.sources, with_certificates=PolicyName.SOURCE_OPTIONS in relaxed),
        verified_sources(config.sources),
        notification_addresses(config.notifications),
        lane(),
        tenant_service_account(),
        no_kubeconfig(through_proxy=tenancy.capsule.proxy is not None),
        own_namespaces(makes_namespaces=makes_namespaces),
        no_cross_namespace_references(),
        reconciliation_interval(config),
        reconciliation_timeout(config),
        controller_load(),
        service_exposure(config, with_grants=PolicyName.SERVICE_EXPOSURE in relaxed),
        load_balancers(config),
        host_access(),
        pod_identity(config),
        node_placement(config, makes_namespaces=makes_namespaces),
        priority_classes(config),
        volume_claims(config),
        volume_classes(config),
        pod_volumes(config),
        disruption_budgets(config),
        allowed_hosts(config.ingress),
        ingress_snippets(config.ingress),
        allowed_images(config.images),
        allowed_fields(),
        allowed_kinds(tenancy),
        platform_objects(),
        unheld_deletion(config),
        release_size(config),
        tenant_namespace(),
        tenant_limits(),
        tenant_access(makes_namespaces=makes_namespaces),
        notification_secrets(config),
        status_writes(),
        policy_objects(),
        ephemeral_containers(),
        flux_requests(),
    )


def policy_set(
    config: PoliciesConfig,
    engine: PolicyEngine,
    more: Iterable[Manifest] = (),
    relaxed: Collection[str] = (),
    *,
    developers: bool = False,
    lanes: bool = False,
    tenancy: TenancyConfig = _DEFAULT_TENANCY,
) -> PolicySet:
    """The enabled policies for one engine (`native` or `kyverno`).

    Args:
        config: the `policies` section of the stack.
        engine: the engine.
        more: policies that only this engine offers.
        relaxed: as of `policies`.
        developers: whether a tenant has developers; without, the policies about them need a mode of their own.
        lanes: whether the stack has lanes; without, the policy about them needs a mode of its own.
        tenancy: the settings of all tenants, which say whether these make namespaces, with Capsule.
    """
    render = kyverno if engine is PolicyEngine.KYVERNO else native
    in_force = [
        (policy, mode)
        for policy, mode in _in_force(config, relaxed, tenancy)
        if is_needed(policy, config, developers=developers, lanes=lanes)
    ]
    manifests = (*(each for policy, mode in in_force for each in render(policy, mode)), *more)
    digest = digest_of(manifests)
    return PolicySet(manifests, digest, tuple(probe_policy(engine, digest)))


def is_needed(policy: Policy, config: PoliciesConfig, *, developers: bool, lanes: bool) -> bool:
    """Whether a stack has what a policy is about, or sets a mode for it all the same.

    Args:
        policy: the policy.
        config: as of `policy_set`.
        developers: as of `policy_set`.
        lanes: as of `policy_set`.
    """
    if policy.name is PolicyName.LANE:
        has = lanes
    elif policy.subject is Subject.PATCHERS:
        has = developers
    else:
        return True
    return has or policy.name in config.modes


def _in_force(
    config: PoliciesConfig, relaxed: Collection[str], tenancy: TenancyConfig
) -> list[tuple[Policy, PolicyMode]]:
    modes = [(policy, config.mode_of(policy.name)) for policy in policies(config, relaxed, tenancy)]
    return [(policy, mode) for policy, mode in modes if mode is not PolicyMode.OFF]
