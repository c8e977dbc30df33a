"""What stands between tenants and the cluster: Kyverno, where there is one, and the policies of each engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pulumi

from components.configuration import StackConfig
from components.configuration.policies import PolicyEngine
from components.flux.controller_rights import shared_impersonation
from components.kyverno_install import KyvernoInstall, KyvernoInstallArgs
from components.manifests import register
from components.policies.kyverno_only import kyverno_only, kyverno_rules, onboards
from components.policies.table import policy_set
from components.preflight import Preflight
from components.tenancy_policies import KyvernoPolicies, NativePolicies, PoliciesArgs


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


def policies_in_force(
    config: StackConfig,
    found: Preflight,
    kyverno: KyvernoInstall | None,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> list[pulumi.Input[pulumi.Resource]]:
    """Register the policies of each engine; returns what everything that is to be guarded depends on.

    Args:
        config: the stack.
        found: what the preflight has found.
        kyverno: its installation.
        after: what the policies are about, and name: Flux and the tenants' role.
        on_cluster: options for a resource of the cluster.
    """
    policies = config.policies
    ready: list[pulumi.Input[pulumi.Resource]] = [kyverno.serving] if kyverno is not None else []
    if kyverno is not None and onboards(policies) and config.flux.impersonates:
        after = [*after, register(shared_impersonation(config.flux), on_cluster())]
    if policies.engine.native:
        args = PoliciesArgs(policy_set(policies, PolicyEngine.NATIVE), found.api)
        ready.append(NativePolicies("native-policies", args, on_cluster(depends_on=[*after])).in_force)
    if policies.engine.kyverno:
        more = kyverno_only(policies, config.tenancy, config.flux, found.release)
        args = PoliciesArgs(policy_set(policies, PolicyEngine.KYVERNO, more), found.api)
        assert kyverno is not None  # The configuration refuses the engine without it.
        opts = on_cluster(depends_on=[*after, kyverno.serving])
        ready.append(KyvernoPolicies("kyverno-policies", args, opts).in_force)
    return ready
