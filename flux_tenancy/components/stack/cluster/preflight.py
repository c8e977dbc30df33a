"""What must hold before the first resource exists, and what is done then in the cluster and at GitHub: clean-up, access
of teams, and adoption.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.adoption import adopt
from flux_tenancy.components.cluster.client import (
    ClusterFacts,
    ClusterUnavailable,
    find_object,
    read_facts,
    read_identity,
    read_names,
    read_namespaced_kinds,
    read_webhook_configurations,
)
from flux_tenancy.components.cluster.component import (
    finder,
    if_readable,
    known_cluster_uid,
    names_cluster,
    readable_only,
)
from flux_tenancy.components.cluster.config import connect
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import creates_nothing, ignores_protection, refreshes
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.config import Sources, github_key_path
from flux_tenancy.components.git.github_preflight import (
    identity_problems,
    lost_repositories,
    new_registrations,
    repository_problems,
    unregistered,
)
from flux_tenancy.components.installs.capsule import CAPSULE, administrator_problems
from flux_tenancy.components.installs.flux.egress import SeenNames, read_seen_names, replaced_names
from flux_tenancy.components.installs.flux.release import needed_kubernetes
from flux_tenancy.components.installs.kyverno import KYVERNO, WEBHOOK_LABEL
from flux_tenancy.components.installs.product import Product, minor
from flux_tenancy.components.recovery.cluster import (
    clear_objects,
    co_owners,
    read_leftover_objects,
    take_back,
    unfinished_release,
)
from flux_tenancy.components.recovery.github_leftovers import (
    Leftover,
    clear_github,
    github_leftovers,
    receivers_by_hand,
)
from flux_tenancy.components.stack.checks.flux import spec_problems
from flux_tenancy.components.stack.checks.policies import expiring_grants, freeze_warnings, namespaced_objects
from flux_tenancy.components.stack.checks.tenants import overfull_store
from flux_tenancy.components.stack.cluster.conflicts import (
    NAMESPACE_TYPE,
    NO_NAMESPACE,
    TENANTS_PATH,
    capsule_problems,
    foreign_flux,
    foreign_product,
    held_namespaces,
    name_conflicts,
    namespace_problems,
    read_capsules,
    surplus_namespaces,
    terminating,
)
from flux_tenancy.components.stack.cluster.deletions import (
    absent_tenants,
    applied_files,
    deletion_problems,
    missing_objects,
    older_files,
    protected_resources,
    version_problems,
)
from flux_tenancy.components.stack.cluster.findings import ClusterFindings, Preflight, read_releases
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.stack.files.tenant_files import unlisted_tenants
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.stack.platform_objects import MONITORING_API, POD_MONITOR, PROMETHEUS_RULE
from flux_tenancy.components.sync.status import read_syncs
from flux_tenancy.components.tenant.leaving.deletion import end_team_access, held_message
from flux_tenancy.components.tenant.leaving.remaining_objects import read_namespace_holds
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, plural_of

if TYPE_CHECKING:
    from kubernetes import client


def preflight(config: StackConfig, state: State, file: StackFile, project: Path) -> Preflight:
    """Check the releases, the cluster, and the repositories where something is to be registered.

    Raises:
        ConfigurationError: with every problem of any of them.
    """
    stack_file = file.name
    release, chart, capsule, problems = read_releases(config, stack_file, project)
    problems += version_problems(state, stack_file)
    described, deleting = config, creates_nothing()
    if deleting:
        config = existing_only(config)
    problems += spec_problems(config, release or (), pulumi.get_stack(), stack_file)
    cluster, of_cluster = check_cluster(config, state, stack_file, project)
    by_hand = cluster.receivers_by_hand if cluster is not None else ()
    lost, leftovers, of_github = _check_github(config.git_sources, state, stack_file, by_hand)
    objects = [*(release or ()), *(capsule.definitions if capsule else ())]
    if release is not None and cluster is not None and not deleting and not ignores_protection():
        problems += deletion_problems(config, objects, cluster.facts, state, stack_file)
    applied, before = applied_files(described, project, file.path, state)
    unclear: list[Message] = []
    if not deleting and cluster is not None and names_cluster(state, cluster.facts.uid):
        problems += absent_tenants(config, state, stack_file)
        older, unclear = older_files(applied, before, project, stack_file)
        problems += older
    problems = [*problems, *of_cluster, *of_github]
    if problems or release is None or cluster is None:  # Each that is missing is a problem.
        raise ConfigurationError(problems)
    by_name = config.git_sources.by_name
    unregistrable = frozenset(each for name in lost for each in new_registrations(name, by_name[name], state))
    of_files = () if deleting else unlisted_tenants(described.tenants, file, project)
    of_stack = (*expiring_grants(config), *freeze_warnings(config), *overfull_store(config, pulumi.get_stack()))
    warnings = (*cluster.warnings, *lost.values(), *of_stack, *of_files, *unclear)
    protected = protected_resources(described, objects, pulumi.get_stack(), cluster.facts, state)
    return Preflight(release, chart, cluster, leftovers, warnings, protected, capsule, unregistrable, applied.outputs)


def existing_only(config: StackConfig) -> StackConfig:
    """The stack without what is still to be created, which must not stop `pulumi destroy` and `pulumi refresh`.

    The cluster must be the right one all the same.
    """
    return config.model_copy(
        update={
            "cluster": config.cluster.model_copy(update={"adopt": True}),
            "flux": config.flux.model_copy(update={"sync": None, "impersonate": ()}),
            "monitoring": config.monitoring.model_copy(update={"operator": False}),
            "tenants": {},
        }
    )


def _check_github(
    sources: Sources, state: State, stack_file: str, by_hand: Container[str]
) -> tuple[Mapping[str, Message], list[Leftover], list[Problem]]:
    new = unregistered(sources, state)
    problems = repository_problems(sources, new, stack_file)
    lost = lost_repositories(sources, new, problems, state)
    problems = [problem for problem in problems if problem.path not in {github_key_path(name) for name in lost}]
    present = {name: source for name, source in new.items() if name not in lost}
    leftovers, taken = github_leftovers(sources, present, state, pulumi.get_stack(), stack_file, by_hand)
    # Deploy keys and webhooks of a repository without access cannot be read either; one problem is enough.
    reported = {problem.path for problem in problems}
    problems += [problem for problem in taken if problem.path not in reported]
    return lost, leftovers, problems + identity_problems(sources, new, stack_file)


async def prepare(config: StackConfig, found: Preflight, state: State) -> None:
    """Log what the preflight warns about, remove what killed updates have left, and adopt what exists already.

    The teams of a tenant that is leaving lose their access with it.

    A preview only logs. Raises pulumi.RunError: the cluster or GitHub refuses, or does not answer.
    """
    for warning in found.warnings:
        log.warn(warning)
    cluster = found.cluster
    take_back(cluster.api, cluster.co_owners)
    clear_github(config.github, found.leftovers)
    clear_objects(cluster.api, cluster.leftovers)
    end_team_access(cluster.api, config.tenants)
    if config.cluster.adopt:
        named = (planned.manifest for _, planned in stack_plan(config, pulumi.get_stack()).named_in_tenants)
        await adopt(cluster.api, state, [*found.release, *named])


def check_cluster(
    config: StackConfig, state: State, stack_file: str, project: Path
) -> tuple[ClusterFindings | None, list[Problem]]:
    """Read the cluster and check it; returns no findings if it does not answer."""
    problems: list[Problem] = []
    try:
        api = connect(config.cluster, project)
        facts = read_facts(api)
        problems += cluster_problems(config, facts, state, stack_file)
        plan = stack_plan(config, pulumi.get_stack())
        holds = {name: read_namespace_holds(api, name) for name in sorted(terminating(config, facts, state))}
        problems += held_namespaces(config, holds, stack_file)
        syncs = read_syncs(api, plan.flux_kinds)
        leftovers: list[str] = if_readable(partial(read_leftover_objects, api, facts, syncs, state), [])
        named = partial(_names_at, api)
        problems += missing_objects(config, plan, facts, state, syncs, named, stack_file, refreshed=refreshes())
        seen = if_readable(partial(read_seen_names, api, state), frozenset[str]())
        taken = name_conflicts(config, plan, facts, state, readable_only(finder(api, state)))
        tenants = if_readable(partial(read_names, api, TENANTS_PATH), set()) if config.makes_namespaces else ()
        problems += capsule_problems(config, facts, state, tenants, stack_file)
        problems += namespaced_objects(config, partial(read_namespaced_kinds, api), stack_file)
        problems += missing_operator(config, facts, partial(find_object, api), stack_file)
        for product, section, read in (
            (KYVERNO, config.kyverno, partial(read_webhook_configurations, api, WEBHOOK_LABEL)),
            (CAPSULE, config.capsule, partial(read_capsules, api)),
        ):
            foreign = foreign_product(product, facts, read, state, stack_file) if section is not None else []
            problems += foreign or _unfinished_release(api, product, state, stack_file, section is not None)
        if config.capsule is not None and not pulumi.runtime.is_dry_run():
            problems += administrator_problems(config.capsule, read_identity(api), stack_file)
        receivers: Set[str] = frozenset()
        if config.flux.webhook_url is not None:
            receivers = if_readable(partial(receivers_by_hand, api, config.git_sources), receivers)
    except ClusterUnavailable as error:
        return None, [*problems, error.as_problem(stack_file)]
    listed = config.tenant_of_namespaces
    warnings = tuple(held_message(found) for name, found in holds.items() if found and name not in listed)
    names = SeenNames(seen, replaced_names(state))
    warnings = (*warnings, *surplus_namespaces(config, facts), *names.warnings())
    warnings = (*warnings, *(each.message for each in taken))
    owners = list(co_owners(syncs, state))
    return ClusterFindings(api, facts, state, warnings, owners, leftovers, receivers, tuple(taken), names), problems


def _unfinished_release(
    api: client.ApiClient, product: Product, state: State, stack_file: str, wanted: bool
) -> list[Problem]:
    """What a killed update has left of a product's release; nothing if neither stack nor state has the product."""
    if not wanted and product.namespace not in state.names(NAMESPACE_TYPE):
        return []
    return if_readable(partial(unfinished_release, api, product, state, stack_file, wanted=wanted), [])


def _names_at(api: client.ApiClient, path: str) -> set[str] | None:
    return if_readable(partial(read_names, api, path), None)


def cluster_problems(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """Why this stack cannot be applied to this cluster."""
    return [
        *_wrong_cluster(config, cluster, state, stack_file),
        *_too_old(config, cluster, stack_file),
        *_cannot_mutate(config, cluster, stack_file),
        *(foreign_flux(cluster, state, stack_file) if not config.cluster.adopt else ()),
        *namespace_problems(config, cluster, stack_file),
    ]


def _wrong_cluster(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A cluster other than the configured one or, if none is configured, than the one of the last update."""
    expected, known = config.cluster.uid, known_cluster_uid(state)
    if cluster.uid == (expected or known or cluster.uid):
        return []
    message = Message(
        "FT-CLU-102",
        f"this stack is for cluster {expected or known}, but the kubeconfig points to {cluster.uid}",
        "correct cluster.kubeconfig or cluster.context, or set cluster.uid to that if the cluster was replaced",
    )
    return [Problem(stack_file, "cluster.uid" if expected is not None else "cluster", message)]


_OLD = Wording("FT-CLU-103", "needs Kubernetes {needed} or later; the cluster runs {cluster}", "{remedy}")


def _too_old(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """A Kubernetes that is too old for Flux; each that is not has ValidatingAdmissionPolicies (since 1.30)."""
    if (needed := needed_kubernetes(config.flux.version, cluster.version)) is None:
        return []
    message = _OLD(needed=needed, cluster=cluster.version, remedy="upgrade the cluster")
    return [Problem(stack_file, "flux.version", message)]


def missing_operator(config: StackConfig, cluster: ClusterFacts, find: Find, stack_file: str) -> list[Problem]:
    """What the objects of the `monitoring` section need and the cluster does not have.

    Args:
        config: the stack.
        cluster: what was found in the cluster.
        find: looks up an object of the cluster.
        stack_file: name of the stack's file.
    """
    if not config.monitoring.operator:
        return []
    group = MONITORING_API.partition("/")[0]
    problems = []
    kinds = [each for each in (POD_MONITOR, PROMETHEUS_RULE) if not if_readable(partial(find, _definition(each)), True)]
    if kinds:
        message = Message(
            "FT-CLU-131",
            f"the cluster does not have the kinds {' and '.join(kinds)} of {group}",
            "install Prometheus Operator first, or remove it and use `flux-tenancy monitoring export`",
        )
        problems.append(Problem(stack_file, "monitoring.operator", message))
    if config.monitoring.namespace not in cluster.namespaces:
        message = NO_NAMESPACE(
            namespace=config.monitoring.namespace, remedy="name the namespace of Prometheus Operator"
        )
        problems.append(Problem(stack_file, "monitoring.namespace", message))
    return problems


def _definition(kind: str) -> Manifest:
    """What identifies the definition of a kind of Prometheus Operator."""
    name = f"{plural_of(kind)}.{MONITORING_API.partition('/')[0]}"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}}


OLDEST_MUTATING = (1, 36)
"""The Kubernetes (major, minor) in which MutatingAdmissionPolicies became generally available.

Source: https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
"""


def _cannot_mutate(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """A Kubernetes without MutatingAdmissionPolicies."""
    if minor(cluster.version) >= OLDEST_MUTATING:
        return []
    wanted = {
        "flux.setLanes": (config.flux.set_lanes, "have tenants label their Flux objects (docs/sizing.md#lanes)"),
        "flux.setAccounts": (config.flux.set_accounts, "have tenants write serviceAccountName (docs/tenant-guide.md)"),
        "policies.podDefaults": (config.policies.pod_defaults, "have tenants write the fields (docs/tenant-guide.md)"),
    }
    return [
        Problem(
            stack_file,
            key,
            _OLD(
                needed=".".join(map(str, OLDEST_MUTATING)),
                cluster=cluster.version,
                remedy=f"remove it, and {instead}, or upgrade the cluster",
            ),
        )
        for key, (is_set, instead) in wanted.items()
        if is_set
    ]
