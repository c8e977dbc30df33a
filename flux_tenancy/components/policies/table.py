"""The table of all policies for a stack's configuration, and their objects for each engine.

A policy reads grants only if a tenant of the stack has such a grant, so all other stacks get the policy without them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.entries import text
from flux_tenancy.components.policies.component import digest_of, probe_policy
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import NAME, WITH_GRANTS, Need, Policy, PolicyName, listed
from flux_tenancy.components.policies.policy_files import filled_policy, has_file, policy_text
from flux_tenancy.components.policies.rendering import kyverno, native
from flux_tenancy.components.policies.values import Condition, conditions, places
from flux_tenancy.components.tenant.annotations import EXCEPTIONS
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.grants import ExceptedPolicy

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest


def may_be_excepted(policy: Policy) -> bool:
    """Whether tenants may have exceptions from a policy."""
    return policy.name.value in [each.value for each in ExceptedPolicy]


def with_exceptions(policy: Policy) -> Policy:
    """The policy for a stack in which a tenant has an exception from it (`PolicyException.entries`)."""
    whole, named = text(policy.name), f"({text(f'{policy.name}/')} + {NAME} + '-')"
    with_grants = WITH_GRANTS
    if any("DELETE" in each.operations for each in policy.resources):
        # Then there is no object.
        with_grants = f"(request.operation == 'DELETE' || {WITH_GRANTS})"
    entries = f"{listed(EXCEPTIONS)}.exists(entry, entry == {whole} || {named}.startsWith(entry + '-'))"
    return replace(
        policy,
        variables={"excepted": f"{with_grants} && {entries}", **policy.variables},
        validations=tuple(
            replace(each, expression=f"variables.excepted || ({each.expression})") for each in policy.validations
        ),
    )


_DEFAULT_TENANCY = TenancyConfig()


@dataclass(frozen=True)
class PolicySet:
    """The objects of one engine, in the order of registration.

    Attributes:
        manifests: the policies with their bindings.
        probe: the objects of the probe (`components.policies.component`), which come after all others.
    """

    manifests: tuple[Manifest, ...]
    digest: str
    probe: tuple[Manifest, ...]


def policies(
    config: PoliciesConfig, relaxed: Collection[str] = (), tenancy: TenancyConfig = _DEFAULT_TENANCY
) -> tuple[Policy, ...]:
    """All policies that both engines offer, in the order of `PolicyName`.

    Args:
        relaxed: names of the policies that exempt what the stack declares for its tenants: grants of a tenant, and
            certificates of its sources.
        tenancy: the settings of all tenants, which say whether these make namespaces, with Capsule.
    """
    known, true = places(config, tenancy), conditions(config, tenancy)
    found = []
    for name in filter(has_file, PolicyName):
        is_relaxed = name in relaxed
        said = policy_text(name, true | {Condition.RELAXED} if is_relaxed else true)
        policy = filled_policy(name, said, known)
        found.append(with_exceptions(policy) if is_relaxed and may_be_excepted(policy) else policy)
    return tuple(found)


def policy_set(
    config: PoliciesConfig,
    engine: PolicyEngine,
    more: Iterable[Manifest] = (),
    relaxed: Collection[str] = (),
    *,
    developers: bool = False,
    lanes: bool = False,
    freezes: bool = False,
    tenancy: TenancyConfig = _DEFAULT_TENANCY,
) -> PolicySet:
    """The enabled policies for one engine (`native` or `kyverno`).

    Args:
        engine: the engine; where Kyverno is the stack's only one, `native` has those that Kubernetes alone enforces.
        more: policies that only this engine offers.
        developers: whether a tenant has developers; without, the policies about them need a mode of their own.
        lanes: whether the stack has lanes; without, the policy about them needs a mode of its own.
        freezes: whether the stack has a freeze; without, the policy about them needs a mode of its own.
        tenancy: the settings of all tenants, which say whether these make namespaces, with Capsule.
    """
    render = kyverno if engine is PolicyEngine.KYVERNO else partial(native, lanes=lanes)
    in_force = [
        (policy, mode)
        for policy, mode in _in_force(config, relaxed, tenancy)
        if is_needed(policy, config, developers=developers, lanes=lanes, freezes=freezes)
        and is_of(policy, engine, config.engine)
    ]
    manifests = (*(each for policy, mode in in_force for each in render(policy, mode)), *more)
    digest = digest_of(manifests)
    return PolicySet(manifests, digest, tuple(probe_policy(engine, digest)))


def is_needed(policy: Policy, config: PoliciesConfig, *, developers: bool, lanes: bool, freezes: bool) -> bool:
    """Whether a stack has what a policy is about, or sets a mode for it all the same."""
    has = {None: True, Need.DEVELOPERS: developers, Need.LANES: lanes, Need.FREEZES: freezes}
    return has[policy.needs] or policy.name in config.modes


def is_of(policy: Policy, engine: PolicyEngine, of_stack: PolicyEngine) -> bool:
    """Whether an engine enforces a policy.

    Args:
        engine: the engine, `native` or `kyverno`.
    """
    if policy.native_only:
        return engine is PolicyEngine.NATIVE
    return engine is PolicyEngine.KYVERNO or of_stack is not PolicyEngine.KYVERNO


def _in_force(
    config: PoliciesConfig, relaxed: Collection[str], tenancy: TenancyConfig
) -> list[tuple[Policy, PolicyMode]]:
    modes = [(policy, config.mode_of(policy.name)) for policy in policies(config, relaxed, tenancy)]
    return [(policy, mode) for policy, mode in modes if mode is not PolicyMode.OFF]
