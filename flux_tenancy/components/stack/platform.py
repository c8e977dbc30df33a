"""The whole platform, registered in order: for an update, for a preview, and for a render without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.component import Cluster, ClusterArgs, protect
from flux_tenancy.components.cluster.hooks import HooksFor, before_changes, hooked, in_thread, ready_hook
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.git.github import NOTHING, Gone
from flux_tenancy.components.git.source import git_access
from flux_tenancy.components.installs.capsule import CapsuleInstall, CapsuleInstallArgs, wait_until_admitted
from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs, PlatformSync, PlatformSyncArgs
from flux_tenancy.components.installs.kyverno import KyvernoInstall, KyvernoInstallArgs
from flux_tenancy.components.plan import Planned, Stage, of_stage, register, register_planned
from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies, PoliciesArgs
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.kyverno_only import kyverno_only, kyverno_rules
from flux_tenancy.components.policies.native_only import (
    limits_first,
)
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.policy_files import read_objects
from flux_tenancy.components.policies.table import PolicySet, policy_set
from flux_tenancy.components.sources.config import has_certificates
from flux_tenancy.components.stack.cluster.conflicts import ConflictHooks, owned_namespaces
from flux_tenancy.components.stack.cluster.findings import Preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan, stack_plan
from flux_tenancy.components.stack.platform_objects import (
    access_of_people,
    label_guards,
    monitoring_objects,
    onboarding_rights,
    request_priority,
    stack_facts,
)
from flux_tenancy.components.tenant.capsule.config import MADE_BY_TENANT, TENANT_OWNER, TENANT_TYPE
from flux_tenancy.components.tenant.capsule.objects import bound_roles, replication_objects
from flux_tenancy.components.tenant.capsule.released_namespaces import Releases, wait_until_replicated
from flux_tenancy.components.tenant.component import Tenant, TenantArgs
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.grants import relaxed_policies
from flux_tenancy.components.tenant.leaving.deletion import Offboarding
from flux_tenancy.components.tenant.quotas import QuotaHooks
from flux_tenancy.components.tenant.role import tenant_role
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.git.rotation import PreviousKeys


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


@dataclass(frozen=True)
class Platform:
    """The components of a stack.

    Attributes:
        plan: what the stack wants for its tenants and its own sync.
        kyverno: Kyverno, or None.
        sync: the platform's own sync, or None.
        tenants: the tenants by name.
        capsule: Capsule, or None.
    """

    plan: Plan
    flux: FluxInstall
    kyverno: KyvernoInstall | None
    sync: PlatformSync | None
    tenants: Mapping[str, Tenant]
    capsule: CapsuleInstall | None = None

    @property
    def applied(self) -> dict[str, pulumi.CustomResource]:
        """What Flux applies, by its key among all syncs (`Plan.syncs`)."""
        found = {key: each for tenant in self.tenants.values() for key, each in tenant.applied.items()}
        if self.sync is not None:
            found |= {each.name: self.sync.registered[each.key] for each in of_stage(self.plan.platform, Stage.SYNCS)}
        return found


def register_platform(config: StackConfig, found: Preflight, previous: PreviousKeys, gone: Gone = NOTHING) -> Platform:
    """Register every resource of a stack.

    Args:
        previous: the deploy keys of earlier updates that stay (`components.git.rotation`).
        gone: what GitHub does not have any more (`components.git.github_preflight`).
    """
    api, facts = found.cluster.api, found.cluster.facts
    protect(found.protected)
    cluster = Cluster("cluster", ClusterArgs(config.cluster, facts.uid, found.protected, found.applied))
    on_cluster = partial(pulumi.ResourceOptions, provider=cluster.provider)
    kyverno = kyverno_installation(config, found, on_cluster)
    serving = serves(kyverno)
    access = git_access(config.git_sources, previous, found.lost, gone)
    plan = stack_plan(config, pulumi.get_stack(), access)
    counted = QuotaHooks(api, plan.tenants.values()).of
    taken = ConflictHooks(found.cluster.taken)

    waiting = hooked(taken.of, serving.waiting, counted)

    def beside(each: Planned, after: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        served = on_cluster(depends_on=[*serving.after, *after])
        return pulumi.ResourceOptions.merge(served, waiting(each.manifest))

    # Flux depends on these, so those whose names are taken come with their tenant.
    rights = plan.early_rights(facts.namespaces, found.cluster.state)
    early = register_planned([each for each in rights if each.key not in taken.keys], beside)
    flux_args = FluxInstallArgs(config.flux, found.release, [*early.values()], stack_facts(config), found.cluster.names)
    flux = FluxInstall("flux", flux_args, on_cluster())
    role = register(tenant_role(config.tenancy, config.opened_to_tenants), on_cluster())
    people = [register(each, on_cluster()) for each in access_of_people(config)]
    level: list[pulumi.Resource] = []
    for each in request_priority(config):
        # Requests of a schema without its level would have the least of all.
        level.append(register(each, on_cluster(depends_on=level[:1])))
    capsule = capsule_installation(config, found, [*flux.last, *serving.after], on_cluster)
    in_namespaces = on_cluster(depends_on=[*serves(capsule).after])
    made = [register(each, in_namespaces) for each in _for_made_namespaces(config)]
    guard = policies_in_force(config, found, kyverno, [*flux.last, role], on_cluster).and_also(serves(capsule))
    before = [*flux.last, role, *people, *made, *guard.after]
    guarded = partial(on_cluster, depends_on=before)
    options = hooked(taken.of, guard.waiting, counted, *_released(found), *_admitted(config, api))

    limits: list[pulumi.Resource] = []
    replicated = ready_hook("limits-replicated", partial(wait_until_replicated, api, config.tenants, config.tenancy))
    for each in limits_first(config.tenancy) if config.makes_namespaces else ():
        # One after the other, so that one step waits. It depends on no tenant, since all tenants depend on it.
        waiting_for = pulumi.ResourceOptions.merge(options(each), guarded(hooks=before_changes([replicated])))
        after = pulumi.ResourceOptions(depends_on=limits[-1:])
        limits.append(register(each, pulumi.ResourceOptions.merge(waiting_for, after)))

    for each in monitoring_objects(config):
        register(each, pulumi.ResourceOptions.merge(options(each), guarded()))
    platform = None
    if plan.platform:
        platform = PlatformSync("platform", PlatformSyncArgs(plan.platform, options), guarded())
    tenant_args = partial(
        TenantArgs,
        offboarding=Offboarding(api, config.active_tenants),
        options=options,
        early=early,
        after={TENANT_OWNER: limits[-1:]},
        capsule=[*serves(capsule).after, *made],
    )

    def tenant(name: str, after: Sequence[pulumi.Resource] = ()) -> Tenant:
        args = tenant_args(plan.scopes[name], plan.tenants[name], beside=partial(beside, after=after))
        return Tenant(name, args, guarded(depends_on=[*before, *after]))

    tenants = {name: tenant(name) for name in plan.tenants if name not in taken.tenants}
    # By default, the engine begins no further steps after one that fails.
    others = [*tenants.values(), *([] if platform is None else [platform])]
    tenants |= {name: tenant(name, others) for name in plan.tenants if name in taken.tenants}
    return Platform(plan, flux, kyverno, platform, tenants, capsule)


def _for_made_namespaces(config: StackConfig) -> list[Manifest]:
    """What all namespaces need that tenants make themselves; nothing where they make none."""
    return [*replication_objects(), *read_objects("made-settings")] if config.makes_namespaces else []


def _released(found: Preflight) -> list[HooksFor]:
    """Takes namespaces that stay out of Capsule's Tenants of this stack, where it has some."""
    own = found.cluster.state.names(TENANT_TYPE)
    owned = {name: tenant for name, tenant in owned_namespaces(found.cluster.facts).items() if tenant in own}
    namespaces = found.cluster.facts.namespaces
    made = [name for name in owned if namespaces[name].get(MANAGED_BY_LABEL) == MADE_BY_TENANT]
    return [Releases(found.cluster.api, owned, made).of] if owned else []


def _admitted(config: StackConfig, api: client.ApiClient) -> list[HooksFor]:
    """Lets no tenant make namespaces before Kyverno, where the stack has it, admits what Capsule writes there."""
    if not (config.makes_namespaces and config.policies.engine.kyverno):
        return []

    async def admitted(args: pulumi.ResourceHookArgs) -> None:
        await in_thread(wait_until_admitted, partial(refusal, api), config.tenants[args.name].home)

    hook = pulumi.ResourceHook("capsule-admitted", admitted)
    return [lambda each: before_changes([hook] if each["kind"] == TENANT_OWNER else [])]
