"""Checks of tenants' limits, and of how much tenants can store together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import BEYOND, NO_EFFECT
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.stack.checks import of_each
from flux_tenancy.components.stack.config import largest_objects
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantBounds
from flux_tenancy.components.tenant.limits import STORED, TenantLimits, all_counts, counted_by, most_bytes
from flux_tenancy.components.vocabulary.manifests import parse_quantity

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.stack.checks import Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


def _of(config: TenantConfig) -> Iterator[tuple[KeyPath, TenantLimits]]:
    """The limits of a tenant and those of its namespaces, by their keys."""
    yield ("limits",), config.limits
    yield from ((("namespaces", at, "limits"), each.limits) for at, each in enumerate(config.namespaces))


def _too_high(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    highest = dict(_set(stack.tenancy.maximum_limits))
    for path, limits in _of(config):
        for key, value in _set(limits):
            if key in highest and (value is None or parse_quantity(value) > parse_quantity(highest[key])):
                yield (
                    ("tenants", tenant, *path, *key),
                    BEYOND(beyond="higher", bound="tenancy.maximumLimits", most=highest[key], within="less"),
                )


_OF_FLUX = ("kustomizations", "helm_releases", "sources")


def _without_effect(path: KeyPath, own: TenantLimits, whole: TenantLimits) -> Iterator[Finding]:
    """Numbers that are set and do not count, because the one of all of Flux's kinds is smaller."""
    for name in _OF_FLUX:
        if name in own.model_fields_set and getattr(own, name) > whole.flux_objects:
            yield (
                (*path, str(TenantLimits.model_fields[name].alias)),
                NO_EFFECT(
                    reason=f"it is above fluxObjects, which is {whole.flux_objects}",
                    remedy="lower it, or set fluxObjects beside it (default: 100, less with tenancy.store.namespace)",
                ),
            )


def _without_effect_in_tenant(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    of_tenant = config.limits.over(stack.tenancy.limits)
    for path, own in _of(config):
        yield from _without_effect(("tenants", tenant, *path), own, own.over(of_tenant))


def limits_without_effect(config: StackConfig) -> Iterator[Finding]:
    """The same in the limits of all tenants."""
    yield from _without_effect(("tenancy", "limits"), config.tenancy.limits, config.tenancy.limits)


def _beyond(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """Bounds of a tenant's policies that allow more than the stack lets a tenant have."""
    furthest = stack.policies.tenant_bounds
    for name, field in TenantBounds.model_fields.items():
        value, bound = getattr(config.policies, name), getattr(furthest, name)
        if value is None or bound is None:
            continue
        own, most = (seconds(each) if isinstance(each, str) else each for each in (value, bound))
        if own < most if name == "minimum_interval" else own > most:
            yield (
                ("tenants", tenant, "policies", str(field.alias)),
                Message(
                    "FT-TEN-324",
                    f"allows more than policies.tenantBounds: {str(bound).lower()}",
                    "set that, or change policies.tenantBounds",
                ),
            )


def _set(limits: Section) -> Iterator[tuple[KeyPath, Any]]:
    """Each limit that is set, by its keys."""
    for name in limits.model_fields_set:
        value, key = getattr(limits, name), str(type(limits).model_fields[name].alias)
        if isinstance(value, Section):
            yield from (((key, *below), each) for below, each in _set(value))
        elif isinstance(value, dict):
            yield from (((key, resource), each) for resource, each in value.items())
        else:
            yield (key,), value


LIMIT_CHECKS = of_each(lambda config: config.tenants, _too_high, _without_effect_in_tenant, _beyond)


_MIB = 1024 * 1024


def too_small_namespaces(config: StackConfig) -> Iterator[Finding]:
    """`tenancy.store.namespace`, if what the other keys set is more than that."""
    size = config.tenancy.store.namespace
    most = most_bytes(counted_by(all_counts(config.tenancy.limits)), largest_objects(config.policies))
    if size is not None and most > parse_quantity(size):
        yield (
            ("tenancy", "store", "namespace"),
            Message(
                "FT-TEN-325",
                f"is less than one object of each kind and the numbers in tenancy.limits: {-(-most // _MIB)}Mi",
                "raise it, or lower those or policies.maximumSizes",
            ),
        )


def overfull_store(config: StackConfig, stack: str) -> Iterator[Message]:
    """A warning if all tenants together can store more than the stack states."""
    namespaces: list[int] = []
    unlimited: set[str] = set()
    for name, planned in stack_plan(config, stack).tenants.items():
        tenant, counts = config.tenants[name], defaultdict[str, dict[str, int]](dict)
        for each in planned:
            if each.kind == "ResourceQuota":
                found = counts[each.namespace]
                for resource, count in counted_by(each.manifest["spec"]["hard"]).items():
                    found[resource] = min(count, found.get(resource, count))
        unlimited.update(*(STORED.difference(each) for each in counts.values()))
        largest = largest_objects(config.policies, tenant.policies)
        own = [most_bytes(each, largest) for each in counts.values()]
        made = capsule_limits(tenant, config.tenancy).namespaces + 1 - len(own) if config.makes_namespaces else 0
        namespaces += own + [max(own)] * max(0, made)
    if unlimited:
        yield Message(
            "FT-TEN-108",
            f"no quota counts tenants' {', '.join(sorted(unlimited))}, which can fill the cluster's store",
            "set a number instead of null in limits.objects",
        )
    total = config.tenancy.store.total
    if total is not None and sum(namespaces) > parse_quantity(total):
        share = int(parse_quantity(total) / len(namespaces) / _MIB)
        yield Message(
            "FT-TEN-109",
            f"tenants can store {sum(namespaces) // _MIB}Mi in all their namespaces ({len(namespaces)}, of up to "
            f"{max(namespaces) // _MIB}Mi); tenancy.store.total is {total}",
            f"set tenancy.store.namespace to {share}Mi or less, lower policies.maximumSizes, or state in "
            "tenancy.store.total what etcd has room for (docs/sizing.md#what-tenants-can-store)",
        )
