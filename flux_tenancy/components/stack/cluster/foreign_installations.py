"""Installations of Flux, Kyverno and Capsule that are not the stack's: two would overwrite each other's objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    ClusterFacts,
    explaining,
    items,
    read_webhook_configurations,
)
from flux_tenancy.components.cluster.ownership import carries_marks, names_cluster
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.capsule.objects import (
    CAPSULE_GROUP,
    CREATED_WEBHOOKS,
    DEFINITION_TYPE,
    generated_objects,
)
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.installs.kyverno.objects import webhook_configurations
from flux_tenancy.components.installs.product import Product
from flux_tenancy.components.stack.cluster.namespaces import NAMESPACE_TYPE
from flux_tenancy.components.vocabulary.manifests import Manifest, resource_type
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE

if TYPE_CHECKING:
    from kubernetes import client


def foreign_flux(cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A Flux that somebody else has installed."""
    if FLUX_NAMESPACE not in cluster.namespaces or FLUX_NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    if FLUX_NAMESPACE in cluster.marked and names_cluster(state, cluster.uid):
        return []
    return [
        Problem(
            stack_file,
            "flux",
            Message(
                "FT-CLU-105",
                f"the cluster has a namespace {FLUX_NAMESPACE} that does not belong to this stack",
                "set cluster.adopt to take it over (docs/adoption.md); do not delete it, since Flux would then prune "
                "what it has applied",
            ),
        )
    ]


_GENERATED: Mapping[str, tuple[Callable[[], list[Manifest]], Wording]] = {
    KYVERNO.name: (
        webhook_configurations,
        Wording(
            "FT-CLU-106",
            "the cluster has a Kyverno that does not belong to this stack ({found}); it cannot be taken over",
            "remove kyverno from the stack and set policies.engine to native; uninstall the other Kyverno only when "
            "nothing needs its policies",
        ),
    ),
    CAPSULE.name: (
        generated_objects,
        Wording(
            "FT-CAP-020",
            "the cluster has a Capsule that does not belong to this stack ({found}); it cannot be taken over",
            "remove capsule from the stack, and set tenancy.mode to namespaces; do not delete Capsule's Tenants or "
            "their definition, since that deletes the namespaces that they own",
        ),
    ),
}
"""What each product generates in the cluster, which the stack creates before the product, and the refusal."""


def foreign_product(
    product: Product, cluster: ClusterFacts, read: Callable[[], Mapping[str, bool]], state: State, stack_file: str
) -> list[Problem]:
    """A Kyverno or a Capsule that somebody else has installed.

    Not even `cluster.adopt` takes it over: its settings, which decide what is admitted and whose namespaces are whose,
    are not the stack's.

    Args:
        product: Kyverno or Capsule.
        cluster: facts of the cluster.
        read: reads what the product has in the cluster, by name, each with whether this program has applied it.
        state: the stack's state.
        stack_file: name of the stack's file.
    """
    namespace = product.namespace
    if namespace in state.names(NAMESPACE_TYPE):
        return []
    generated, refusal = _GENERATED[product.name]
    begun = names_cluster(state, cluster.uid)
    is_foreign = namespace in cluster.namespaces and not (begun and namespace in cluster.marked)
    # An update may have been killed after it had created nothing but these.
    own = state.names(DEFINITION_TYPE).union(*(state.names(resource_type(each)) for each in generated()))
    found = [f"the namespace {namespace}"] if is_foreign else []
    found += sorted(name for name, marked in read().items() if name not in own and not (marked and begun))
    return [Problem(stack_file, product.name, refusal(found=", ".join(found)))] if found else []


def read_capsules(api: client.ApiClient) -> dict[str, bool]:
    """Capsule's custom resource definitions and webhook configurations, each with whether this program has applied it.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        listed = items(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", accept=METADATA_LIST)
    definitions = {
        metadata["name"]: carries_marks(metadata)
        for metadata in (each["metadata"] for each in listed)
        if metadata["name"].endswith(f".{CAPSULE_GROUP}")
    }
    selector = ",".join(f"{key}={value}" for key, value in CREATED_WEBHOOKS.items())
    return definitions | read_webhook_configurations(api, selector)
