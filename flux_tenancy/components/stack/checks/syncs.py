"""Checks of what Flux applies for a tenant: names, dependencies and numbers of its syncs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.checks.check import Finding, of_each
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE, TenantConfig
from flux_tenancy.components.tenant.syncs import circle

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath


def sync_paths(tenant: str, config: TenantConfig) -> dict[str, KeyPath]:
    """The path of each sync's keys, by the name of its Kustomization."""
    return {tenant: ("tenants", tenant, "sync")} | {name: ("tenants", tenant, "syncs", name) for name in config.syncs}


def _own_names(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    if tenant in config.syncs:
        yield (
            ("tenants", tenant, "syncs", tenant),
            Message(
                "FT-TEN-310", "is the name of the tenant's own sync", "choose another name, or set the keys in sync"
            ),
        )


def _dependencies(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    paths = sync_paths(tenant, config)
    needed = {name: sync.depends_on for name, sync in config.all_syncs(tenant).items()}
    yield from unusable_dependencies(needed, {name: (*path, "dependsOn") for name, path in paths.items()}, "syncs")


def _own_namespaces(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    """Namespaces that are not the tenant's; the one of `sync.targetNamespace` is checked with its section."""
    own = config.namespace_names
    paths = sync_paths(tenant, config)
    for name, sync in config.all_syncs(tenant).items():
        given: dict[KeyPath, object] = {("targetNamespace",): sync.target_namespace} if name != tenant else {}
        checks = enumerate(sync.health_checks)
        given |= {("healthChecks", at, "namespace"): each.get("namespace") for at, each in checks}
        for key, namespace in given.items():
            if namespace is not None and namespace not in own:
                yield (*paths[name], *key), foreign_namespace(namespace, own)


def _numbers(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """More syncs than the quota of the home namespace admits, so that an update would fail half way."""
    limit = config.limits_in(config.home, stack.tenancy.limits).most_kustomizations
    if len(config.syncs) > limit:
        yield (
            ("tenants", tenant, "syncs"),
            Message(
                "FT-TEN-313",
                f"has {len(config.syncs)} entries, but the tenant may have {limit} Kustomizations besides its own sync",
                "remove entries, or raise limits.kustomizations of the tenant",
            ),
        )


def unusable_dependencies(
    needed: Mapping[str, Sequence[str]], paths: Mapping[str, KeyPath], kind: str
) -> Iterator[Finding]:
    """Dependencies on what does not exist, and those that lead in a circle.

    Args:
        needed: name -> the names that it depends on.
        paths: name -> the path of these names.
        kind: what all of them are, in the plural.
    """
    for name, several in needed.items():
        for index, each in enumerate(several):
            if each not in needed:
                known = ", ".join(other for other in needed if other != name) or "none"
                yield (
                    (*paths[name], index),
                    Message(
                        "FT-TEN-311", f"is not one of the tenant's {kind}", f"remove it, or name one of these: {known}"
                    ).of(each),
                )
    if found := circle(needed):
        yield (
            paths[found[0]],
            Message("FT-TEN-312", f"is circular: {' -> '.join(found)}", "remove one of these dependencies"),
        )


def foreign_namespace(namespace: object, own: Sequence[str]) -> Message:
    """What is said of a namespace that is not the tenant's."""
    return FOREIGN_TARGET_NAMESPACE(namespaces=", ".join(own)).of(namespace)


SYNC_CHECKS = of_each(lambda config: config.active_tenants, _own_names, _dependencies, _own_namespaces, _numbers)
