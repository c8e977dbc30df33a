"""What stands between tenants and the cluster: Kyverno, where there is one, and the policies of each engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Admission:
    """What was registered.

    Attributes:
        kyverno: the installation, or None.
        ready: what everything that is to be guarded depends on.
    """

    kyverno: KyvernoInstall | None
    ready: Sequence[pulumi.Input[pulumi.Resource]]


def admission(
    config: StackConfig,
    found: Preflight,
    after: Sequence[pulumi.Resource],
    on_cluster: Callable[..., pulumi.ResourceOptions],
) -> Admission:
    """Register Kyverno and the policies, in the order in which they can work.

    Args:
        config: the stack.
        found: what the preflight has found.
        after: what the policies are about, and name: Flux and the tenants' role.
        on_cluster: options for a resource of the cluster.
    """
    policies, kyverno = config.policies, None
    ready: list[pulumi.Input[pulumi.Resource]] = []
    if config.kyverno is not None:
        if onboards(policies) and config.flux.impersonates:
            after = [*after, register(shared_impersonation(config.flux), on_cluster())]
        assert found.chart is not None  # The preflight reads it for every Kyverno.
        release = KyvernoInstallArgs(config.kyverno, found.chart, found.api, kyverno_rules(policies, config.flux))
        kyverno = KyvernoInstall("kyverno", release, on_cluster())
        ready.append(kyverno.serving)
    if policies.engine.native:
        args = PoliciesArgs(policy_set(policies, PolicyEngine.NATIVE), found.api)
        ready.append(NativePolicies("native-policies", args, on_cluster(depends_on=[*after])).in_force)
    if policies.engine.kyverno:
        more = kyverno_only(policies, config.tenancy, config.flux, found.release)
        args = PoliciesArgs(policy_set(policies, PolicyEngine.KYVERNO, more), found.api)
        assert kyverno is not None  # The configuration refuses the engine without it.
        opts = on_cluster(depends_on=[*after, kyverno.serving])
        ready.append(KyvernoPolicies("kyverno-policies", args, opts).in_force)
    return Admission(kyverno, ready)
