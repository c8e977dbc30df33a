"""Checks of `tenancy.mode: capsule` against the rest of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import NO_EFFECT, RESERVED, SET_BY
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.checks import NOT_INSTALLED
from flux_tenancy.components.stack.checks.sources import NO_TOKENS
from flux_tenancy.components.tenant.capsule.config import KEYS_OF_CAPSULE, made_prefix
from flux_tenancy.components.tenant.capsule.objects import capsule_limits

if TYPE_CHECKING:
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


_ONLY_WITH_CAPSULE = NO_EFFECT(reason="tenancy.mode is not capsule", remedy="set tenancy.mode to capsule, or remove it")


def _capsule_not_installed(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.capsule is None:
        yield ("tenancy", "mode"), NOT_INSTALLED(value="capsule", section="capsule", instead="mode to namespaces")


def _capsule_not_used(config: StackConfig) -> Iterator[Finding]:
    """Capsule in another mode: while it is down, nobody could change a namespace, and it would do nothing else."""
    if config.capsule is not None and not config.makes_namespaces:
        yield ("capsule",), _ONLY_WITH_CAPSULE


INSTALLATION_CHECKS: tuple[Check, ...] = (_capsule_not_installed, _capsule_not_used)


def _limits_without_capsule(config: StackConfig) -> Iterator[Finding]:
    """Settings of Capsule in a stack in which only the platform makes namespaces."""
    if config.makes_namespaces:
        return
    if config.tenancy.capsule.model_fields_set:
        yield ("tenancy", "capsule"), _ONLY_WITH_CAPSULE
    for name, tenant in config.tenants.items():
        if tenant.capsule.model_fields_set:
            yield ("tenants", name, "capsule"), _ONLY_WITH_CAPSULE


def _too_many_namespaces(config: StackConfig) -> Iterator[Finding]:
    """More namespaces than Capsule would let the tenant have: it would refuse to create the last ones."""
    for name, tenant in _makers(config):
        count, most = len(tenant.namespaces) - 1, capsule_limits(tenant, config.tenancy).namespaces
        if count > most:
            yield (
                ("tenants", name, "namespaces"),
                Message(
                    "FT-CFG-821",
                    f"lists {count} namespaces in addition to the home; the tenant's maximum is {most}",
                    "raise capsule.namespaces, or remove namespaces",
                ),
            )


def _names_of_made_namespaces(config: StackConfig) -> Iterator[Finding]:
    """A namespace that another tenant could make first, and that the policies take for that tenant's."""
    for maker, _ in _makers(config):
        prefix = made_prefix(maker)
        for name, tenant in config.tenants.items():
            for index, namespace in enumerate(tenant.namespace_names):
                if name != maker and namespace.startswith(prefix):
                    path = ("tenants", name, "namespaces", index, "name")
                    yield path, _of_maker(maker).of(namespace)


def _tenants_of_one_prefix(config: StackConfig) -> Iterator[Finding]:
    """Two tenants whose own namespaces cannot be told apart by name."""
    for name, _ in _makers(config):
        for maker, _ in _makers(config):
            if made_prefix(name).startswith(made_prefix(maker)) and name != maker:
                yield ("tenants", name), _of_maker(maker)


def _of_maker(maker: str) -> Message:
    return RESERVED(owner=f"the namespaces that tenant {maker} makes: it starts with {made_prefix(maker)}")


def _keys_of_capsule(config: StackConfig) -> Iterator[Finding]:
    """Labels and annotations by which Capsule decides whose a namespace is and where its Pods run."""
    for name, tenant in _makers(config):
        for index, namespace in enumerate(tenant.namespaces):
            for part, entries in (("labels", namespace.labels), ("annotations", namespace.annotations)):
                if keys := [key for key in entries if key.startswith(KEYS_OF_CAPSULE)]:
                    yield ("tenants", name, "namespaces", index, part), SET_BY(what=", ".join(keys), owner="Capsule")


def _onboarding(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.policies.onboarding:
        yield (
            ("policies", "onboarding"),
            NOT_WITH_CAPSULE(reason="it would provision a second time the namespaces that tenants create"),
        )


NOT_WITH_CAPSULE = Wording(
    "FT-CFG-866", "does not go together with tenancy.mode: capsule: {reason}", "remove it, or use another mode"
)


def _makers(config: StackConfig) -> Iterator[tuple[str, TenantConfig]]:
    """The tenants that make namespaces themselves."""
    if config.makes_namespaces:
        yield from config.tenants.items()


def _proxy(config: StackConfig) -> Iterator[Finding]:
    """A proxy that Flux may not log in to."""
    proxy, path = config.tenancy.capsule.proxy, ("tenancy", "capsule", "proxy")
    if proxy is not None and proxy.address is not None and not config.flux.workload_identity:
        yield path, NO_TOKENS()


CAPSULE_CHECKS: tuple[Check, ...] = (
    _limits_without_capsule,
    _too_many_namespaces,
    _names_of_made_namespaces,
    _tenants_of_one_prefix,
    _keys_of_capsule,
    _onboarding,
    _proxy,
)
