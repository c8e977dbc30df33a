"""What stands between tenants and the cluster: Kyverno, where there is one, and the policies of each engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pulumi

from components.cluster.hooks import before_changes, hooked
from components.cluster.manifests import register
from components.flux.controller_rights import shared_impersonation
from components.kyverno.component import KyvernoInstall, KyvernoInstallArgs
from components.policies.component import KyvernoPolicies, NativePolicies, PoliciesArgs
from components.policies.config import PolicyEngine
from components.policies.kyverno_only import kyverno_only, kyverno_rules, onboards
from components.policies.table import policy_set
from components.stack.config import StackConfig
from components.stack.preflight import Preflight


@dataclass(frozen=True)
class Guard:
    """What has to be so before something is changed that admission guards.

    Attributes:
        after: what it depends on.
        ready: wait until what it depends on really guards.
    """

    after: Sequence[pulumi.Resource]
    ready: Sequence[pulumi.ResourceHook]

    @property
    def waiting(self) -> pulumi.ResourceTransformation:
        """Has each object wait before it is created or updated."""
        return hooked(lambda _: before_changes(self.ready))


def kyverno_installation(
    config: StackConfig, found: Preflight, on_cluster: Callable[..., pulumi.ResourceOptions]
) -> KyvernoInstall | None:
    """Register Kyverno, if the stack has it.

    Its webhooks are asked of every change in a tenant's namespace once there are policies, so that whatever changes
    something there comes after it serves.
    """
    if config.kyverno is None:
        return None
    assert found.chart is not None  # The preflight reads it for every Kyverno.
    rules = kyverno_rules(config.policies, config.flux)
    args = KyvernoInstallArgs(config.kyverno, found.chart, found.api, rules, found.kyverno_release.description)
    return KyvernoInstall("kyverno", args, on_cluster())


def kyverno_serves(kyverno: KyvernoInstall | None) -> Guard:
    """What everything waits for that Kyverno is asked of; nothing where the stack has none."""
    return Guard([], []) if kyverno is None else Guard([kyverno.release], [kyverno.serving])


def policies_in_force(
    config: StackConfig,
    found: Preflight,
    kyverno: KyvernoInstall | None,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> Guard:
    """Register the policies of each engine; returns what everything that is to be guarded waits for.

    Args:
        config: the stack.
        found: what the preflight has found.
        kyverno: its installation.
        after: what the policies are about, and name: Flux and the tenants' role.
        on_cluster: options for a resource of the cluster.
    """
    policies = config.policies
    guard = kyverno_serves(kyverno)
    components: list[KyvernoPolicies | NativePolicies] = []
    if kyverno is not None and onboards(policies) and config.flux.impersonates:
        after = [*after, register(shared_impersonation(config.flux), on_cluster())]
    if policies.engine.native:
        args = PoliciesArgs(policy_set(policies, PolicyEngine.NATIVE), found.api)
        components.append(NativePolicies("native-policies", args, on_cluster(depends_on=[*after])))
    if policies.engine.kyverno:
        more = kyverno_only(policies, config.tenancy, config.flux, found.release)
        args = PoliciesArgs(policy_set(policies, PolicyEngine.KYVERNO, more), found.api)
        assert kyverno is not None  # The configuration refuses the engine without it.
        opts = on_cluster(depends_on=[*after, *guard.after], transformations=[guard.waiting])
        components.append(KyvernoPolicies("kyverno-policies", args, opts))
    return Guard(
        [*guard.after, *(each.last for each in components)], [*guard.ready, *(each.in_force for each in components)]
    )
