"""Checks of how much tenants can store together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.sizes import largest_objects
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.limits import all_counts
from flux_tenancy.components.tenant.stored import STORED, counted_by, most_bytes
from flux_tenancy.components.vocabulary.quantities import parse_quantity

if TYPE_CHECKING:
    from flux_tenancy.components.stack.checks.check import Finding
    from flux_tenancy.components.stack.config import StackConfig

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
    """A warning if all tenants together can store more than the stack states.

    Args:
        config: the stack.
        stack: its name.
    """
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
