"""The namespaces that the stack needs: whose they are, and whether they are being deleted."""

from __future__ import annotations

from collections.abc import Mapping

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, TENANT_TYPE
from flux_tenancy.components.tenant.leaving.remaining_objects import NamespaceHolds
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

NAMESPACE_TYPE = "kubernetes:core/v1:Namespace"
OF_PLATFORM = (FLUX_NAMESPACE, KYVERNO.namespace, CAPSULE.namespace)
"""The platform's own namespaces, as far as a stack has them."""


NO_NAMESPACE = Wording("FT-CLU-108", "the cluster has no namespace {namespace!r}", "{remedy}")


def namespace_problems(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """What is wrong with the namespaces, except for those that are being deleted (`held_namespaces`)."""
    return [*_unknown(config, cluster, stack_file), *_foreign(config, cluster, stack_file)]


def terminating(config: StackConfig, cluster: ClusterFacts, state: State) -> set[str]:
    """Namespaces that are being deleted, of tenants that the stack lists or has listed.

    Those that a tenant has made are in no state, so they count once the stack no longer lists the tenant.
    """
    left = state.names(TENANT_TYPE) - config.tenants.keys()
    made = {name for name, labels in cluster.namespaces.items() if labels.get(CAPSULE_TENANT_LABEL) in left}
    return set(cluster.terminating & (config.tenant_of_namespaces.keys() | state.names(NAMESPACE_TYPE) | made))


def held_namespaces(config: StackConfig, holds: Mapping[str, NamespaceHolds | None], stack_file: str) -> list[Problem]:
    """Namespaces of the platform and of listed tenants that are still being deleted: nothing can be created in them.

    Args:
        holds: what blocks the deletion of each namespace that is being deleted; None for one that is gone by now, which
            the facts of the cluster still have.
    """
    paths = {name: f"tenants.{tenant}" for name, tenant in config.tenant_of_namespaces.items()}
    return [
        Problem(stack_file, path, _being_deleted(namespace, holds[namespace]))
        for namespace, path in (dict.fromkeys(OF_PLATFORM, "cluster") | paths).items()
        if namespace in holds
    ]


def _being_deleted(namespace: str, holds: NamespaceHolds | None) -> Message:
    remedy = "wait until it is gone, and run the command again"
    if holds:
        # Flux's controllers may have gone before the objects that they finalize, and then nothing prunes.
        remedy = (
            "finalizers block it: when nothing needs them, or their controllers are gone, remove them with `kubectl "
            f"edit` and run the command again:{holds.listing}"
        )
    return Message("FT-CLU-110", f"namespace {namespace!r} is still being deleted", remedy)


def _unknown(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """Namespaces where Flux is to impersonate somebody and that neither the stack nor the cluster has."""
    known = {FLUX_NAMESPACE, *cluster.namespaces, *config.tenant_of_namespaces}
    return [
        Problem(
            stack_file,
            f"flux.impersonate[{index}].namespace",
            NO_NAMESPACE(
                namespace=entry.namespace,
                remedy="create it first, or let the platform's repository create the Role together with it "
                "(docs/lockdown.md#controllers-rights)",
            ),
        )
        for index, entry in enumerate(config.flux.impersonate)
        if entry.namespace not in known
    ]


def _foreign(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """Existing namespaces that a tenant would take over without being labeled as this tenant's."""
    return [
        Problem(
            stack_file,
            f"tenants.{tenant}",
            Message(
                "FT-CLU-107",
                f"namespace {namespace!r} exists in the cluster and does not belong to this tenant",
                "choose another name, or, if everything in it belongs to this tenant, transfer it with `kubectl "
                f"label namespace {namespace} --overwrite {_of_stack(tenant)}`",
            ),
        )
        for namespace, tenant in config.tenant_of_namespaces.items()
        if namespace in cluster.namespaces and cluster.namespaces[namespace].get(TENANT_LABEL) != tenant
    ]


def _of_stack(tenant: str) -> str:
    """The labels of a tenant's namespace; the first alone is refused if the stack lists the tenant already."""
    return f"{TENANT_LABEL}={tenant} {MANAGED_BY_LABEL}={MANAGER}"
