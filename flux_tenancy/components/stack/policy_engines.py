"""Admission: Kyverno and Capsule, if the stack has them, and the policies of each engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pulumi

from flux_tenancy.components.cluster.hooks import before_changes
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.installs.capsule import CapsuleInstall, CapsuleInstallArgs
from flux_tenancy.components.installs.flux.controller_rights import shared_impersonation
from flux_tenancy.components.installs.kyverno import KyvernoInstall, KyvernoInstallArgs
from flux_tenancy.components.plan import register
from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies, PoliciesArgs
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.kyverno_only import kyverno_only, kyverno_rules, onboards
from flux_tenancy.components.policies.native_only import pod_defaults, set_accounts, set_lanes, tenant_labels
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.table import PolicySet, policy_set
from flux_tenancy.components.sources.config import has_certificates
from flux_tenancy.components.stack.cluster.findings import Preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.capsule.objects import bound_roles
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.grants import relaxed_policies
from flux_tenancy.components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class Guard:
    """What must be in place before an object is changed that admission guards.

    Attributes:
        after: the resources to depend on.
        ready: hooks that wait until admission is really enforced.
    """

    after: Sequence[pulumi.Resource]
    ready: Sequence[pulumi.ResourceHook]

    def and_also(self, other: Guard) -> Guard:
        """What is in place when both are."""
        return Guard([*self.after, *other.after], [*self.ready, *other.ready])

    def waiting(self, _: Manifest) -> pulumi.ResourceHookBinding:
        """The hooks with which an object waits before it is created or updated."""
        return before_changes(self.ready)


def kyverno_installation(
    config: StackConfig, found: Preflight, on_cluster: Callable[..., pulumi.ResourceOptions]
) -> KyvernoInstall | None:
    """Register Kyverno, if the stack has it.

    Once there are policies, the API server calls its webhooks for every change in a tenant's namespace, so such changes
    have to wait until it serves.
    """
    if config.kyverno is None:
        return None
    chart = present(found.chart, "the preflight reads it for every Kyverno")
    rules = kyverno_rules(config.policies, config.flux)
    further_kinds = config.makes_namespaces and config.policies.engine.kyverno
    largest = config.policies.maximum_sizes.object
    args = KyvernoInstallArgs(config.kyverno, chart, found.cluster.api, rules, further_kinds, largest)
    return KyvernoInstall("kyverno", args, on_cluster())


def capsule_installation(
    config: StackConfig,
    found: Preflight,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> CapsuleInstall | None:
    """Register Capsule, if the stack has it."""
    if config.capsule is None:
        return None
    capsule = present(found.capsule, "the preflight reads it for every Capsule")
    roles = bound_roles(config.active_tenants.values())
    args = CapsuleInstallArgs(config.capsule, capsule, found.cluster.api, roles)
    return CapsuleInstall("capsule", args, on_cluster(depends_on=[*after]))


def serves(installed: KyvernoInstall | CapsuleInstall | None) -> Guard:
    """What every change waits for that webhooks of Kyverno or Capsule are called for; nothing without it."""
    return Guard([], []) if installed is None else Guard([installed.release], [installed.serving])


def policies_in_force(
    config: StackConfig,
    found: Preflight,
    kyverno: KyvernoInstall | None,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> Guard:
    """Register the policies of each engine; returns what every guarded object waits for.

    Args:
        kyverno: the installed Kyverno, or None.
    """
    policies, api = config.policies, found.cluster.api
    guard = serves(kyverno)
    labels: list[pulumi.Resource] = []
    components: list[KyvernoPolicies | NativePolicies] = []
    after = [*after, *(register(each, on_cluster()) for each in onboarding_rights(config))]
    if policies.engine is not PolicyEngine.NONE:
        labels += [register(each, on_cluster()) for each in label_guards(config)]
        # With Kyverno as the only engine, they are those that Kubernetes alone enforces.
        args = PoliciesArgs(enabled_policies(config, PolicyEngine.NATIVE, found.release), api)
        components.append(NativePolicies("native-policies", args, on_cluster(depends_on=[*after])))
    if policies.engine.kyverno:
        args = PoliciesArgs(enabled_policies(config, PolicyEngine.KYVERNO, found.release), api, guard.ready)
        present(kyverno, "the configuration refuses the engine without it")
        opts = on_cluster(depends_on=[*after, *guard.after])
        components.append(KyvernoPolicies("kyverno-policies", args, opts))
    return Guard(
        [*guard.after, *labels, *(each.last for each in components)],
        [*guard.ready, *(each.in_force for each in components)],
    )


def enabled_policies(config: StackConfig, engine: PolicyEngine, release: Sequence[Manifest]) -> PolicySet:
    """The policies of a stack for one engine.

    Args:
        engine: the engine, `native` or `kyverno`.
    """
    policies = config.policies
    kyverno = engine is PolicyEngine.KYVERNO
    more = kyverno_only(policies, config.tenancy, config.flux, release) if kyverno else ()
    relaxed = relaxed_by(config.tenants.values(), policies)
    return policy_set(
        policies,
        engine,
        more,
        relaxed,
        developers=config.has_developers,
        lanes=bool(config.flux.lanes),
        freezes=config.has_freezes,
        tenancy=config.tenancy,
    )


def label_guards(config: StackConfig) -> list[Manifest]:
    """What keeps everyone but the platform from setting the labels of tenants, and what changes objects of tenants."""
    readers = [*config.cluster.previewers, *config.cluster.auditors]
    lanes = set_lanes(readers) if config.flux.set_lanes else []
    accounts = set_accounts(readers) if config.flux.set_accounts else []
    pods = pod_defaults(readers) if config.policies.pod_defaults else []
    return [*tenant_labels(config.policies.mode, makes_namespaces=config.makes_namespaces), *lanes, *accounts, *pods]


def onboarding_rights(config: StackConfig) -> list[Manifest]:
    """What lets Flux's controllers impersonate in namespaces that Kyverno onboards; nothing if it onboards none."""
    onboarding = config.kyverno is not None and onboards(config.policies) and config.flux.impersonates
    return [shared_impersonation(config.flux)] if onboarding else []


def relaxed_by(tenants: Collection[TenantConfig], policies: PoliciesConfig) -> frozenset[str]:
    """The names of the policies that exempt what the stack declares for tenants: grants, certificates, own lists."""
    relaxed = relaxed_policies(grant for tenant in tenants for grant in tenant.grants)
    for setting, of_setting in _OWN_LISTS.items():
        if any(getattr(tenant.policies, setting) for tenant in tenants):
            relaxed |= of_setting
    sources = (source for tenant in tenants for source in tenant.sources.values())
    if policies.sources.client_certificates or not any(map(has_certificates, sources)):
        return relaxed
    return relaxed | {PolicyName.SOURCE_OPTIONS}


# Those that every stack has do not read the lists unless a tenant has one.
_OWN_LISTS = {
    "csi_drivers": {PolicyName.POD_VOLUMES},
    "priority_classes": {PolicyName.PRIORITY_CLASSES},
    "storage_classes": {PolicyName.VOLUME_CLAIMS, PolicyName.VOLUME_CLASSES},
    "tolerations": {PolicyName.NODE_PLACEMENT},
}
