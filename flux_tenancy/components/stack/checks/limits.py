"""Checks of the limits of tenants and namespaces against those of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.stack.checks.check import of_each
from flux_tenancy.components.tenant.bounds import TenantBounds
from flux_tenancy.components.vocabulary.quantities import parse_quantity

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.stack.checks.check import Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


def _too_high(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    highest = dict(_set(stack.tenancy.maximum_limits))
    namespaces = ((("namespaces", at, "limits"), each.limits) for at, each in enumerate(config.namespaces))
    for path, limits in ((("limits",), config.limits), *namespaces):
        for key, value in _set(limits):
            if key in highest and (value is None or parse_quantity(value) > parse_quantity(highest[key])):
                yield (
                    ("tenants", tenant, *path, *key),
                    Message("FT-TEN-322", f"is higher than tenancy.maximumLimits allows: {highest[key]}", "lower it"),
                )


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


LIMIT_CHECKS = of_each(lambda config: config.tenants, _too_high, _beyond)
