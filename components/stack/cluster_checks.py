"""What the cluster must be like before the first resource, and what earlier updates have left in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kubernetes import client

from components.cluster.client import (
    ClusterFacts,
    ClusterUnavailable,
    connect,
    read_facts,
    read_names,
    read_webhook_configurations,
)
from components.cluster.co_owners import CoOwner, co_owners
from components.cluster.component import known_cluster_uid
from components.cluster.lost_namespaces import LostNamespaces
from components.cluster.namespace_holds import read_namespace_holds
from components.cluster.unreadable import finder, if_readable
from components.config.errors import Problem
from components.config.wordings import Message
from components.engine.state import State
from components.flux.support import OLDEST_KUBERNETES, minor
from components.kyverno.objects import MANAGED_BY_LABEL, NAMESPACE
from components.kyverno.unfinished_release import (
    UnfinishedRelease,
    left_without_kyverno,
    read_unfinished,
    unread_release,
)
from components.policies.native import NATIVE_SINCE
from components.stack.config import StackConfig
from components.stack.foreign_installations import foreign_flux, foreign_kyverno
from components.stack.missing_objects import missing_objects
from components.stack.namespace_checks import (
    NAMESPACE_TYPE,
    held_namespaces,
    lost_namespaces,
    namespace_problems,
    tenant_of_namespaces,
    terminating,
)
from components.stack.strays import read_strays
from components.stack.taken_names import taken_names
from components.stack.wordings import (
    ANOTHER_CLUSTER,
    KUBERNETES_TOO_OLD,
    NO_ADMISSION_POLICIES,
    WRONG_CLUSTER,
)
from components.sync.flux_objects import read_syncs
from components.tenant.offboarding import held_message


@dataclass(frozen=True)
class ClusterFindings:
    """What was found in the cluster.

    Attributes:
        api: a client for it.
        facts: its identity, version and namespaces.
        lost: namespaces of earlier updates that are missing.
        warnings: what the user should know and does not stop the update.
        co_owners: field managers that own fields of the stack's objects.
        kyverno_release: what a killed update has left of Kyverno's release.
        strays: API paths of objects with generated names that a killed update has left.
    """

    api: client.ApiClient
    facts: ClusterFacts
    lost: LostNamespaces
    warnings: tuple[Message, ...]
    co_owners: list[CoOwner]
    kyverno_release: UnfinishedRelease
    strays: list[str]


def check_cluster(
    config: StackConfig, state: State, stack_file: str, project: Path
) -> tuple[ClusterFindings | None, list[Problem]]:
    """Read the cluster and check it; returns no findings if it does not answer.

    Args:
        config: the stack.
        state: the stack's state.
        stack_file: name of the stack's file.
        project: folder of the Pulumi project.
    """
    problems: list[Problem] = []
    try:
        api = connect(config.cluster, project)
        facts = read_facts(api)
        problems += cluster_problems(config, facts, state, stack_file)
        holds = {name: read_namespace_holds(api, name) for name in sorted(terminating(config, facts, state))}
        problems += held_namespaces(config, holds, stack_file)
        syncs = read_syncs(api)
        strays: list[str] = if_readable(partial(read_strays, api, facts, syncs, state), [])
        problems += missing_objects(config, facts, state, syncs, partial(_names_at, api), stack_file)
        problems += taken_names(config, facts, state, finder(api, state), stack_file)
        if config.kyverno is not None:
            webhooks = read_webhook_configurations(api, MANAGED_BY_LABEL)
            problems += foreign_kyverno(facts, webhooks, state, stack_file)
        kyverno_release = UnfinishedRelease()
        if config.kyverno is not None or NAMESPACE in state.names(NAMESPACE_TYPE):
            kyverno_release = if_readable(partial(read_unfinished, api, state), unread_release(state))
            problems += left_without_kyverno(config.kyverno, kyverno_release, stack_file)
    except ClusterUnavailable as error:
        return None, [*problems, error.as_problem(stack_file)]
    listed = tenant_of_namespaces(config)
    warnings = tuple(
        held_message(found, config.cluster.context) for name, found in holds.items() if found and name not in listed
    )
    lost = lost_namespaces(facts, state)
    owners = co_owners(syncs, state)
    return ClusterFindings(api, facts, lost, warnings, owners, kyverno_release, strays), problems


def _names_at(api: client.ApiClient, path: str) -> set[str] | None:
    return if_readable(partial(read_names, api, path), None)


def cluster_problems(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """Why this stack cannot be applied to this cluster."""
    return [
        *_wrong_cluster(config, cluster, state, stack_file),
        *_too_old(config, cluster, stack_file),
        *(foreign_flux(cluster, state, stack_file) if not config.cluster.adopt else ()),
        *namespace_problems(config, cluster, state, stack_file),
    ]


def _wrong_cluster(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A cluster other than the configured one or, if none is configured, than the one of the last update."""
    expected, known = config.cluster.uid, known_cluster_uid(state)
    if cluster.uid == (expected or known or cluster.uid):
        return []
    if expected is not None:
        return [Problem(stack_file, "cluster.uid", WRONG_CLUSTER(expected=expected, found=cluster.uid))]
    return [Problem(stack_file, "cluster", ANOTHER_CLUSTER(known=known, found=cluster.uid))]


def _too_old(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """A Kubernetes without what Flux or the native policies need."""
    version, problems = minor(cluster.version), []
    if version < (oldest := OLDEST_KUBERNETES[minor(config.flux.version)]):
        fields = {"flux": config.flux.version, "oldest": _dotted(oldest), "version": cluster.version}
        problems.append(Problem(stack_file, "flux.version", KUBERNETES_TOO_OLD(**fields)))
    engine = config.policies.engine
    if engine.native and version < NATIVE_SINCE:
        fields = {"engine": engine.value, "since": _dotted(NATIVE_SINCE), "version": cluster.version}
        problems.append(Problem(stack_file, "policies.engine", NO_ADMISSION_POLICIES(**fields)))
    return problems


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
