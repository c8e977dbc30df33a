"""Installations of Flux and Kyverno that do not belong to the stack: two would overwrite each other's objects."""

from __future__ import annotations

from collections.abc import Mapping

from components.cluster.client import ClusterFacts
from components.cluster.manifests import resource_type
from components.cluster.ownership import names_cluster
from components.config.errors import Problem
from components.engine.state import State
from components.kyverno.objects import NAMESPACE, webhook_configurations
from components.stack.namespace_checks import NAMESPACE_TYPE
from components.stack.wordings import FOREIGN_FLUX, FOREIGN_KYVERNO
from components.sync.names import FLUX_NAMESPACE


def foreign_flux(cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A Flux that somebody else has installed."""
    if FLUX_NAMESPACE not in cluster.namespaces or FLUX_NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    if FLUX_NAMESPACE in cluster.marked and names_cluster(state, cluster.uid):
        return []
    return [Problem(stack_file, "flux", FOREIGN_FLUX(namespace=FLUX_NAMESPACE))]


def foreign_kyverno(
    cluster: ClusterFacts, webhooks: Mapping[str, bool], state: State, stack_file: str
) -> list[Problem]:
    """A Kyverno that somebody else has installed.

    Not even `cluster.adopt` takes it over: its settings, which decide what it admits, are not the stack's.

    Args:
        cluster: facts of the cluster.
        webhooks: Kyverno's webhook configurations in the cluster, each with whether this program has applied it.
        state: the stack's state.
        stack_file: name of the stack's file.
    """
    if NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    begun = names_cluster(state, cluster.uid)
    ours = cluster.marked if begun else frozenset()
    found = [f"the namespace {NAMESPACE}"] if NAMESPACE in cluster.namespaces.keys() - ours else []
    # An update may have been killed after it had created nothing but these.
    own = {name for manifest in webhook_configurations() for name in state.names(resource_type(manifest))}
    own |= {name for name, marked in webhooks.items() if marked and begun}
    found += [f"the webhook configuration {name}" for name in sorted(webhooks.keys() - own)]
    return [Problem(stack_file, "kyverno", FOREIGN_KYVERNO(found=", ".join(found)))] if found else []
