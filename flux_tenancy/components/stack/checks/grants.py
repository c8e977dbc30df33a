"""Checks of grants: their last day, and the objects that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from flux_tenancy.components.config.decisions import EXPIRED, today
from flux_tenancy.components.config.errors import KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.stack.checks import Finding
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.grants import Grant, has_expired, refused_group
from flux_tenancy.components.tenant.role import READ, PolicyRule

if TYPE_CHECKING:
    from flux_tenancy.components.cluster.client import NamespacedKind

WARNING = timedelta(days=14)
"""How long before its last day a grant is warned about."""


def expired_grants(config: StackConfig) -> Iterator[Finding]:
    """Grants whose last day has passed: whoever updates the stack has to decide about them."""
    now = today()
    for path, grant in _grants(config):
        if has_expired(grant, now):
            yield (*path, "expires"), EXPIRED(today=now, decision="grant").of(str(grant.expires))


def ungrantable_groups(config: StackConfig) -> Iterator[Finding]:
    """Rights over objects of API groups that the stack does not list as grantable."""
    listed = config.tenancy.grantable_groups
    for path, group in _groups(config):
        if group not in listed:
            refused = refused_group(group) or Message(
                "FT-TEN-413",
                "is not in tenancy.grantableGroups: a tenant that writes objects of this API group uses the rights "
                "of their controller",
                "if that controller isolates tenants from each other, add to the tenancy section: "
                f"`grantableGroups: [{', '.join([*listed, group])}]`",
            )
            yield path, refused.of(group)


def _groups(config: StackConfig) -> Iterator[tuple[KeyPath, str]]:
    """The API group of everything that is granted to tenants, each with its path."""
    for path, grant in _grants(config):
        for index, rule in enumerate(grant.rules):
            for position, group in enumerate(rule.api_groups):
                yield (*path, "rules", index, "apiGroups", position), group
        for index, each in enumerate(grant.cluster_objects):
            key = "apiGroup" if each.kinds_group == each.api_group else "name"
            yield (*path, "clusterObjects", index, key), each.kinds_group
    for index, extra in enumerate(config.tenancy.extra_rules):
        if not _only_reads(extra):
            for position, group in enumerate(extra.api_groups):
                yield ("tenancy", "extraRules", index, "apiGroups", position), group


def _only_reads(rule: PolicyRule) -> bool:
    """Whether a rule allows nothing but to read objects; to get a subresource may be to connect to a Pod."""
    return set(rule.verbs) <= set(READ) and not any("/" in each or "*" in each for each in rule.resources)


def expiring_grants(config: StackConfig) -> Iterator[Message]:
    """A warning for each grant that will soon stop updates."""
    now = today()
    for path, grant in _grants(config):
        if grant.expires is not None and now <= grant.expires <= now + WARNING:
            _, tenant, _, index = path
            reason = printable(grant.reason)
            yield Message(
                "FT-TEN-411",
                f"tenant {tenant}: grants[{index}] ({reason}) expires on {grant.expires}; updates are refused "
                "after that",
                "remove the grant, or have the platform team agree to a later date",
            )


def namespaced_objects(
    config: StackConfig, read_kinds: Callable[[], Iterable[NamespacedKind]], stack_file: str
) -> list[Problem]:
    """Grants of one cluster-scoped object whose resource is namespaced in the cluster.

    A ClusterRole would allow objects of this name in all namespaces, those of other tenants included.

    Args:
        read_kinds: reads the namespaced kinds of the cluster; it is called only if a tenant has such a grant.
    """
    named = {
        (*path, "clusterObjects", index, "resource"): each
        for path, grant in _grants(config)
        for index, each in enumerate(grant.cluster_objects)
    }
    if not named:
        return []
    namespaced = {(kind.root.split("/")[2], kind.resource) for kind in read_kinds() if kind.root.startswith("/apis/")}
    return [
        Problem(
            stack_file,
            dotted(path),
            Message(
                "FT-TEN-410",
                "is a namespaced resource, so the grant would apply to objects of this name in every namespace",
                "grant it in rules",
            ).of(each.resource),
        )
        for path, each in named.items()
        if (each.api_group, each.resource) in namespaced
    ]


def _grants(config: StackConfig) -> Iterator[tuple[KeyPath, Grant]]:
    """The grants of all tenants, each with its path; policies still read those of a tenant that is leaving."""
    for name, tenant in config.tenants.items():
        for index, grant in enumerate(tenant.grants):
            yield ("tenants", name, "grants", index), grant
