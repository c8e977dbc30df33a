"""Namespaces that tenants make themselves with Capsule, and Capsule's Tenants, as the cluster has them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.namespaces import NAMESPACE_TYPE
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API, CAPSULE_TENANT_LABEL, TENANT_TYPE
from flux_tenancy.components.tenant.capsule.objects import capsule_limits

TENANTS_PATH = f"/apis/{CAPSULE_API}/tenants"


def capsule_problems(
    config: StackConfig, cluster: ClusterFacts, state: State, tenants: Collection[str], stack_file: str
) -> list[Problem]:
    """Why Capsule's tenants in the cluster cannot become those of the stack.

    Args:
        tenants: the names of Capsule's Tenants in the cluster; not needed where tenants make no namespaces.
    """
    own = state.names(TENANT_TYPE)
    if not config.makes_namespaces:
        return [*_unlisted(config, cluster, state, stack_file)]
    problems = [
        Problem(
            stack_file,
            f"tenants.{name}",
            Message(
                "FT-CAP-051",
                f"Capsule has a Tenant {name} that this stack does not manage",
                "choose another name for this tenant; to take the Tenant over with its namespaces, set cluster.adopt "
                "to true. Deleting the Tenant deletes the namespaces that it owns",
            ),
        )
        for name in config.tenants
        if name in tenants and name not in own and not config.cluster.adopt
    ]
    owners = owned_namespaces(cluster)
    return problems + [
        Problem(
            stack_file,
            f"tenants.{name}",
            Message(
                "FT-CAP-052",
                f"namespace {namespace} belongs to Capsule's Tenant {printable(owners[namespace])}",
                "choose another namespace, or have that Tenant release it",
            ),
        )
        for name, tenant in config.tenants.items()
        for namespace in tenant.namespace_names
        if owners.get(namespace, name) != name
    ]


def owned_namespaces(cluster: ClusterFacts) -> dict[str, str]:
    """The namespaces in the cluster that Capsule owns, each with the name of its Tenant."""
    return {
        name: labels[CAPSULE_TENANT_LABEL]
        for name, labels in cluster.namespaces.items()
        if CAPSULE_TENANT_LABEL in labels
    }


def made_namespaces(cluster: ClusterFacts, tenant: str, listed: Collection[str]) -> list[str]:
    """The namespaces that a tenant has made itself, by name."""
    return sorted(name for name, owner in owned_namespaces(cluster).items() if owner == tenant and name not in listed)


def surplus_namespaces(config: StackConfig, cluster: ClusterFacts) -> Iterator[Message]:
    """Says which tenants have more namespaces than they may: Capsule counts late; requests at once pass its quota."""
    owners = owned_namespaces(cluster)
    for name, tenant in config.tenants.items() if config.makes_namespaces else ():
        owned, most = (
            [each for each in owners if owners[each] == name],
            capsule_limits(tenant, config.tenancy).namespaces,
        )
        if len(owned) > most:
            namespaces = ", ".join(sorted(owned))
            yield Message(
                "FT-CAP-055",
                f"tenant {name} has {len(owned)} namespaces in addition to its home; the maximum is {most}: "
                f"{namespaces}",
                "have the tenant remove some of them from its repository, or raise capsule.namespaces",
            )


def _unlisted(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> Iterator[Problem]:
    """Namespaces of tenants that stay, which they have made themselves and would lose with Capsule's Tenant."""
    own, applied = state.names(TENANT_TYPE), state.names(NAMESPACE_TYPE)
    for name in config.tenants:
        if name in own and (made := made_namespaces(cluster, name, applied)):
            message = Message(
                "FT-CAP-053",
                f"has created the namespaces {', '.join(made)}; changing tenancy.mode would delete them with "
                "Capsule's Tenant",
                "add them to its namespaces and run `pulumi up` before you change the mode, or have the "
                "tenant remove them from its repository",
            )
            yield Problem(stack_file, f"tenants.{name}", message)
