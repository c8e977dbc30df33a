"""Checks of `tenancy.mode: capsule` against the rest of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.checks.sources import NO_TOKENS
from flux_tenancy.components.tenant.capsule.names import KEYS_OF_CAPSULE, made_prefix
from flux_tenancy.components.tenant.capsule.objects import capsule_limits

if TYPE_CHECKING:
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


def _capsule_not_installed(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.capsule is None:
        yield (
            ("tenancy", "mode"),
            Message(
                "FT-CFG-803",
                "is capsule, but the stack has no section capsule",
                "add the section, or set the mode to namespaces",
            ),
        )


def _capsule_not_used(config: StackConfig) -> Iterator[Finding]:
    """Capsule in another mode: while it is down, nobody could change a namespace, and it would do nothing else."""
    if config.capsule is not None and not config.makes_namespaces:
        yield (
            ("capsule",),
            Message(
                "FT-CFG-804",
                f"installs Capsule, but tenancy.mode is {config.tenancy.mode.value}",
                "set tenancy.mode to capsule, or remove the section",
            ),
        )


INSTALLATION_CHECKS: tuple[Check, ...] = (_capsule_not_installed, _capsule_not_used)


LIMITS_WITHOUT_CAPSULE = Wording(
    "FT-CFG-820",
    "has an effect only with Capsule, but tenancy.mode is namespaces",
    "set tenancy.mode to capsule, or remove it",
)


def _limits_without_capsule(config: StackConfig) -> Iterator[Finding]:
    """Settings of Capsule in a stack in which only the platform makes namespaces."""
    if config.makes_namespaces:
        return
    if config.tenancy.capsule.model_fields_set:
        yield ("tenancy", "capsule"), LIMITS_WITHOUT_CAPSULE()
    for name, tenant in config.tenants.items():
        if tenant.capsule.model_fields_set:
            yield ("tenants", name, "capsule"), LIMITS_WITHOUT_CAPSULE()


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
                    yield (
                        path,
                        Message(
                            "FT-CFG-822",
                            f"starts with {prefix}, which tenant {maker} uses for its own namespaces",
                            "rename the namespace or that tenant",
                        ).of(namespace),
                    )


def _tenants_of_one_prefix(config: StackConfig) -> Iterator[Finding]:
    """Two tenants whose own namespaces cannot be told apart by name."""
    for name, _ in _makers(config):
        for maker, _ in _makers(config):
            if made_prefix(name).startswith(prefix := made_prefix(maker)) and name != maker:
                yield (
                    ("tenants", name),
                    Message(
                        "FT-CFG-828",
                        f"starts with {prefix}, which tenant {maker} uses for its own namespaces, so names could "
                        "collide",
                        "rename one of the two tenants",
                    ),
                )


def _keys_of_capsule(config: StackConfig) -> Iterator[Finding]:
    """Labels and annotations by which Capsule decides whose a namespace is and where its Pods run."""
    for name, tenant in _makers(config):
        for index, namespace in enumerate(tenant.namespaces):
            for part, entries in (("labels", namespace.labels), ("annotations", namespace.annotations)):
                if keys := [key for key in entries if key.startswith(KEYS_OF_CAPSULE)]:
                    yield (
                        ("tenants", name, "namespaces", index, part),
                        Message("FT-CFG-823", f"sets {', '.join(keys)}, which Capsule sets itself", "remove them"),
                    )


def _onboarding(config: StackConfig) -> Iterator[Finding]:
    if config.makes_namespaces and config.policies.onboarding:
        yield (
            ("policies", "onboarding"),
            Message(
                "FT-CFG-824",
                "would provision a second time the namespaces that tenants create with Capsule",
                "remove it, or set tenancy.mode to namespaces",
            ),
        )


def _makers(config: StackConfig) -> Iterator[tuple[str, TenantConfig]]:
    """The tenants that make namespaces themselves."""
    if config.makes_namespaces:
        yield from config.tenants.items()


def _proxy(config: StackConfig) -> Iterator[Finding]:
    """A proxy that Flux may not log in to."""
    proxy, path = config.tenancy.capsule.proxy, ("tenancy", "capsule", "proxy")
    if proxy is not None and proxy.address is not None and not config.flux.workload_identity:
        yield (
            path,
            NO_TOKENS(),
        )


CAPSULE_CHECKS: tuple[Check, ...] = (
    _limits_without_capsule,
    _too_many_namespaces,
    _names_of_made_namespaces,
    _tenants_of_one_prefix,
    _keys_of_capsule,
    _onboarding,
    _proxy,
)
