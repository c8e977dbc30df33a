"""Admission: Kyverno, if the stack has it, and the policies of each engine."""

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
    """What must be in place before an object is changed that admission guards.

    Attributes:
        after: the resources to depend on.
        ready: hooks that wait until admission is really enforced.
    """

    after: Sequence[pulumi.Resource]
    ready: Sequence[pulumi.ResourceHook]

    @property
    def waiting(self) -> pulumi.ResourceTransformation:
        """Makes each object wait before it is created or updated."""
        return hooked(lambda _: before_changes(self.ready))


def kyverno_installation(
    config: StackConfig, found: Preflight, on_cluster: Callable[..., pulumi.ResourceOptions]
) -> KyvernoInstall | None:
    """Register Kyverno, if the stack has it.

    Once there are policies, the API server calls its webhooks for every change in a tenant's namespace, so such changes
    have to wait until it serves.
    """
    if config.kyverno is None:
        return None
    assert found.chart is not None  # The preflight reads it for every Kyverno.
    rules, description = kyverno_rules(config.policies, config.flux), found.cluster.kyverno_release.description
    args = KyvernoInstallArgs(config.kyverno, found.chart, found.cluster.api, rules, description)
    return KyvernoInstall("kyverno", args, on_cluster())


def kyverno_serves(kyverno: KyvernoInstall | None) -> Guard:
    """What every change waits for that Kyverno's webhooks are called for; nothing if the stack has no Kyverno."""
    return Guard([], []) if kyverno is None else Guard([kyverno.release], [kyverno.serving])


def policies_in_force(
    config: StackConfig,
    found: Preflight,
    kyverno: KyvernoInstall | None,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> Guard:
    """Register the policies of each engine; returns what every guarded object waits for.

    Args:
        config: the stack.
        found: what the preflight has found.
        kyverno: the installed Kyverno, or None.
        after: what the policies refer to: Flux and the tenants' role.
        on_cluster: options for a resource of the cluster.
    """
    policies = config.policies
    guard = kyverno_serves(kyverno)
    components: list[KyvernoPolicies | NativePolicies] = []
    if kyverno is not None and onboards(policies) and config.flux.impersonates:
        after = [*after, register(shared_impersonation(config.flux), on_cluster())]
    if policies.engine.native:
        args = PoliciesArgs(policy_set(policies, PolicyEngine.NATIVE), found.cluster.api)
        components.append(NativePolicies("native-policies", args, on_cluster(depends_on=[*after])))
    if policies.engine.kyverno:
        more = kyverno_only(policies, config.tenancy, config.flux, found.release)
        args = PoliciesArgs(policy_set(policies, PolicyEngine.KYVERNO, more), found.cluster.api)
        assert kyverno is not None  # The configuration refuses the engine without it.
        opts = on_cluster(depends_on=[*after, *guard.after], transformations=[guard.waiting])
        components.append(KyvernoPolicies("kyverno-policies", args, opts))
    return Guard(
        [*guard.after, *(each.last for each in components)], [*guard.ready, *(each.in_force for each in components)]
    )
