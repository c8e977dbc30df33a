"""Checks of tenants' limits, of their openings in the network, and of those that Capsule serves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import BEYOND, NO_EFFECT, RESERVED, SET_BY
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.stack.checks import NOT_INSTALLED, not_a_tenant, of_each
from flux_tenancy.components.stack.checks.flux import NO_TOKENS
from flux_tenancy.components.stack.config import largest_objects
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.capsule.config import KEYS_OF_CAPSULE, made_prefix
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantBounds
from flux_tenancy.components.tenant.limits import STORED, TenantLimits, all_counts, counted_by, most_bytes
from flux_tenancy.components.tenant.network import METADATA_NETWORKS, TenantNetwork
from flux_tenancy.components.vocabulary.manifests import parse_quantity

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.config.networks import NetworkRange
    from flux_tenancy.components.stack.checks import Check, Finding
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


def _without_denial(config: StackConfig) -> Iterator[Finding]:
    """Openings in a stack whose tenants may connect to everything."""
    for path, tenant in _openings(config):
        if config.tenancy.network_policy is TenantNetwork.NONE and not tenant.network.is_empty:
            yield (
                path,
                NO_EFFECT(
                    reason="tenancy.networkPolicy is none, so nothing is closed",
                    remedy="set tenancy.networkPolicy to default-deny, or remove the openings",
                ),
            )


def _one_sided(config: StackConfig) -> Iterator[Finding]:
    """Openings between two tenants that only one of them has."""
    for path, tenant in _openings(config):
        name = path[1]
        for key, back, others in (
            ("to", "from", tenant.network.tenants.to),
            ("from", "to", tenant.network.tenants.from_),
        ):
            for index, other in enumerate(others):
                where = (*path, "tenants", key, index)
                if other == name:
                    yield (
                        where,
                        Message(
                            "FT-TEN-523",
                            "is the tenant itself, whose namespaces are always open to each other",
                            "remove it",
                        ).of(other),
                    )
                elif (there := config.tenants.get(other)) is None:
                    yield where, not_a_tenant(config, other)
                else:
                    agreed = there.network.tenants
                    if name not in (agreed.from_ if key == "to" else agreed.to):
                        agreement = f"tenants.{other}.network.tenants.{back}"
                        yield (
                            where,
                            Message(
                                "FT-TEN-521",
                                f"is a tenant that has not listed this one: {agreement} lacks {name}",
                                "have that tenant add it, or remove the opening here",
                            ).of(other),
                        )


def _for_namespaces_of_tenants(config: StackConfig) -> Iterator[Finding]:
    """Openings for a tenant's namespace by its name: that tenant has not agreed to anything."""
    owners = config.tenant_of_namespaces
    for path, tenant in _openings(config):
        for index, opening in enumerate(tenant.network.ingress):
            if (owner := owners.get(opening.from_namespace)) is not None:
                key = (*path, "ingress", index, "fromNamespace")
                yield (
                    key,
                    Message("FT-TEN-524", f"belongs to tenant {owner}, which must agree", "use network.tenants").of(
                        opening.from_namespace
                    ),
                )


def _to_protected_networks(config: StackConfig) -> Iterator[Finding]:
    """Openings that include a cloud's metadata service, or what the stack protects."""
    protected = (
        (METADATA_NETWORKS, "where clouds hand out the credentials of nodes"),
        (config.tenancy.protected_networks, "which tenancy.protectedNetworks protects"),
    )
    for path, tenant in _openings(config):
        for index, opening in enumerate(tenant.network.egress):
            for networks, what in protected:
                if parts := _exposed(opening, networks):
                    message = Wording(
                        "FT-TEN-525", "includes {parts}, {what}", "add {parts} to except, or narrow cidr"
                    )(parts=", ".join(parts), what=what)
                    yield (*path, "egress", index, "cidr"), message.of(opening.cidr)


def _exposed(opening: NetworkRange, networks: tuple[str, ...]) -> list[str]:
    return [part for network in networks for part in opening.exposed(network)]


def _openings(config: StackConfig) -> Iterator[tuple[KeyPath, TenantConfig]]:
    """Each tenant, with the path of its openings."""
    for name, tenant in config.tenants.items():
        yield ("tenants", name, "network"), tenant


NETWORK_CHECKS: tuple[Check, ...] = (_without_denial, _one_sided, _for_namespaces_of_tenants, _to_protected_networks)


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
