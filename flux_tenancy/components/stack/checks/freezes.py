"""Checks of freezes: the tenants that they hold or leave out, their policy, and their end."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.config.decisions import now
from flux_tenancy.components.config.errors import NO_EFFECT, NOT_ALLOWED, KeyPath
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.stack.checks import Finding
from flux_tenancy.components.stack.checks.sources import not_a_tenant
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.freezes import Freeze, freezes_of, in_utc
from flux_tenancy.components.vocabulary.names import Controller

_OF_LEASES = ("--enable-leader-election", "--watch-label-selector")


def _unknown_tenants(config: StackConfig) -> Iterator[Finding]:
    for index, freeze in enumerate(config.tenancy.freeze):
        for position, name in enumerate(freeze.except_):
            if name not in config.tenants:
                yield ("tenancy", "freeze", index, "except", position), not_a_tenant(config, name)


def _without_policy(config: StackConfig) -> Iterator[Finding]:
    policies = config.policies
    if policies.engine is PolicyEngine.NONE or policies.mode_of(PolicyName.FREEZE) is PolicyMode.OFF:
        for path, _ in _freezes(config):
            yield (
                path,
                NO_EFFECT(
                    reason="the policy freeze is off",
                    remedy="set policies.engine and policies.modes.freeze, or remove the freeze",
                ),
            )


def _without_clock(config: StackConfig) -> Iterator[Finding]:
    """Arguments with which kustomize-controller renews no Lease, or one of another name."""
    given = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if config.has_freezes and any(each.startswith(_OF_LEASES) for each in given):
        yield (
            ("flux", "extraArgs", Controller.KUSTOMIZE.value),
            NOT_ALLOWED(
                what=f"one of {', '.join(_OF_LEASES)}",
                owner="a freeze",
                why="it reads the time from the controller's usual Lease",
            ),
        )


FREEZE_CHECKS = (_unknown_tenants, _without_policy, _without_clock)


def freeze_warnings(config: StackConfig) -> Iterator[Message]:
    """What is frozen now, and the freezes that have ended."""
    time = now()
    for path, freeze in _freezes(config):
        where, what = f"{'.'.join(map(str, path[:-1]))}[{path[-1]}]", printable(freeze.reason)
        if freeze.to <= time:
            yield Message("FT-TEN-435", f"{where} ({what}) ended at {in_utc(freeze.to)}", "remove it")
        elif freeze.from_ <= time:
            held = [name for name, each in config.tenants.items() if freeze in freezes_of(name, each, config.tenancy)]
            yield Message(
                "FT-TEN-436",
                f"{where} ({what}) holds the changes of {', '.join(held) or 'no tenant'} until {in_utc(freeze.to)}",
                "for a change that cannot wait, grant the tenant an exception from the policy freeze",
            )


def _freezes(config: StackConfig) -> Iterator[tuple[KeyPath, Freeze]]:
    """Each freeze with its path."""
    for index, of_stack in enumerate(config.tenancy.freeze):
        yield ("tenancy", "freeze", index), of_stack
    for name, tenant in config.tenants.items():
        for index, freeze in enumerate(tenant.freeze):
            yield ("tenants", name, "freeze", index), freeze
