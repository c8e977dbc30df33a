"""What must hold before the first resource exists: a release to trust, the right cluster, repositories to reach."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pulumi
from kubernetes import client

from components.cluster.client import (
    ClusterFacts,
    ClusterUnavailable,
    connect,
    find_object,
    read_facts,
    read_names,
    read_webhook_configurations,
)
from components.cluster.co_owners import CoOwner, co_owners
from components.cluster.component import known_cluster_uid
from components.cluster.lost_namespaces import LostNamespaces
from components.cluster.manifests import Manifest, resource_type
from components.cluster.namespace_holds import NamespaceHolds, read_namespace_holds
from components.cluster.ownership import names_cluster
from components.config.errors import ConfigurationError, Problem
from components.config.pinned_input import PinnedInputError
from components.engine.pulumi_command import creates_nothing
from components.engine.state import State
from components.flux.release import read_release
from components.flux.support import OLDEST_KUBERNETES, minor
from components.git.github_identity import identity_problems, unneeded_owners
from components.git.github_leftovers import Leftover, github_leftovers
from components.git.github_preflight import repository_problems
from components.kyverno.chart import Chart, read_chart
from components.kyverno.objects import MANAGED_BY_LABEL, NAMESPACE, webhook_configurations
from components.kyverno.unfinished_release import UnfinishedRelease, left_without_kyverno, read_unfinished
from components.policies.native import NATIVE_SINCE
from components.stack.config import StackConfig
from components.stack.missing_objects import missing_objects
from components.stack.strays import read_strays
from components.stack.taken_names import taken_names
from components.sync.flux_objects import read_syncs
from components.sync.names import FLUX_NAMESPACE, TENANT_LABEL
from components.tenant.config import TenantConfig
from components.tenant.offboarding import held_message

NAMESPACE_TYPE = "kubernetes:core/v1:Namespace"


@dataclass(frozen=True)
class Preflight:
    """What was found before the first resource.

    Attributes:
        release: the release's objects, digest checked.
        chart: Kyverno's chart, digest checked; None where Kyverno is not installed.
        cluster: who the cluster is.
        api: a client for it.
        lost: the namespaces of earlier updates that the cluster has not any more.
        warnings: what is worth knowing and stops nothing.
        co_owners: who else has applied what is the stack's.
        leftovers: what an update that was killed has left at GitHub.
        kyverno_release: what it has left of Kyverno's release.
        strays: the objects with generated names that it has left, by their paths.
    """

    release: list[Manifest]
    chart: Chart | None
    cluster: ClusterFacts
    api: client.ApiClient
    lost: LostNamespaces
    warnings: tuple[str, ...]
    co_owners: list[CoOwner]
    leftovers: list[Leftover]
    kyverno_release: UnfinishedRelease
    strays: list[str]


def preflight(config: StackConfig, state: State, stack_file: str, project: Path) -> Preflight:
    """Check the releases, the cluster, and the repositories in which something is to be registered.

    Args:
        config: the stack.
        state: what earlier updates of this stack have left.
        stack_file: what the errors call the file of the stack.
        project: folder of the Pulumi project.

    Raises:
        ConfigurationError: with everything that is wrong with any of them.
    """
    problems: list[Problem] = []
    warnings: tuple[str, ...] = ()
    kyverno_release = UnfinishedRelease()
    strays: list[str] = []
    try:
        release = read_release(config.flux, project)
    except PinnedInputError as error:
        problems.append(error.as_problem(stack_file))
    try:
        chart = read_chart(config.kyverno, project) if config.kyverno is not None else None
    except PinnedInputError as error:
        problems.append(error.as_problem(stack_file))
    if creates_nothing():
        config = existing_only(config)
    try:
        api = connect(config.cluster, project)
        cluster = read_facts(api)
        problems += cluster_problems(config, cluster, state, stack_file)
        holds = {name: read_namespace_holds(api, name) for name in sorted(terminating(config, cluster, state))}
        problems += held_namespaces(config, holds, stack_file)
        warnings = tuple(
            held_message(found, config.cluster.context)
            for name, found in holds.items()
            if found and name not in _namespaces_of_tenants(config)
        )
        syncs = read_syncs(api)
        strays = read_strays(api, cluster, syncs, state)
        owners = co_owners(syncs, state)
        problems += missing_objects(config, cluster, state, syncs, partial(read_names, api), stack_file)
        problems += taken_names(config, cluster, state, partial(find_object, api), stack_file)
        if config.kyverno is not None:
            webhooks = read_webhook_configurations(api, MANAGED_BY_LABEL)
            problems += foreign_kyverno(cluster, webhooks, state, stack_file)
        if config.kyverno is not None or NAMESPACE in state.names(NAMESPACE_TYPE):
            kyverno_release = read_unfinished(api, state)
            problems += left_without_kyverno(config.kyverno, kyverno_release, stack_file)
    except ClusterUnavailable as error:
        problems.append(Problem(stack_file, f"cluster.{error.key}", str(error)))
    refused = repository_problems(config.git_sources, state, stack_file)
    leftovers, taken = github_leftovers(config.git_sources, state, pulumi.get_stack(), stack_file)
    # Where nothing may be done, nothing can be read either.
    told = {problem.path for problem in refused}
    problems += refused + [problem for problem in taken if problem.path not in told]
    problems += identity_problems(config.git_sources, state, stack_file)
    warnings += tuple(unneeded_owners(config.git_sources, stack_file))
    if problems:
        raise ConfigurationError(problems)
    lost = lost_namespaces(cluster, state)
    return Preflight(release, chart, cluster, api, lost, warnings, owners, leftovers, kyverno_release, strays)


def existing_only(config: StackConfig) -> StackConfig:
    """The stack without what is still to come: what `destroy` and `refresh` do not make stops neither.

    Which cluster it is has to be right all the same.
    """
    return config.model_copy(
        update={
            "cluster": config.cluster.model_copy(update={"adopt": True}),
            "flux": config.flux.model_copy(update={"sync": None, "impersonate": ()}),
            "tenants": {},
        }
    )


def cluster_problems(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """Why this cluster is not the one to apply this stack to."""
    problems = []
    known_uid = known_cluster_uid(state)
    if config.cluster.uid is not None and cluster.uid != config.cluster.uid:
        problems.append(
            Problem(
                stack_file,
                "cluster.uid",
                f"expects the cluster {config.cluster.uid}, but the kubeconfig leads to {cluster.uid}; correct "
                "cluster.kubeconfig or cluster.context, or the uid if the cluster was replaced",
            )
        )
    elif config.cluster.uid is None and known_uid is not None and cluster.uid != known_uid:
        problems.append(
            Problem(
                stack_file,
                "cluster",
                f"this stack was applied to the cluster {known_uid}, but the kubeconfig leads to {cluster.uid}; "
                "correct cluster.kubeconfig or cluster.context, or set cluster.uid to the new one if the cluster was "
                "replaced",
            )
        )
    oldest = OLDEST_KUBERNETES[minor(config.flux.version)]
    if minor(cluster.version) < oldest:
        problems.append(
            Problem(
                stack_file,
                "flux.version",
                f"Flux {config.flux.version} needs Kubernetes {oldest[0]}.{oldest[1]} or later, the cluster runs "
                f"{cluster.version}; upgrade the cluster or choose an older Flux",
            )
        )
    problems += _unknown_policies(config, cluster, stack_file)
    if not config.cluster.adopt:
        problems += _foreign_flux(cluster, state, stack_file)
    problems += _unknown_places(config, cluster.namespaces, stack_file)
    problems += _emptied_namespaces(config, lost_namespaces(cluster, state), stack_file)
    return problems + _foreign_namespaces(config.tenants, cluster.namespaces, stack_file)


def lost_namespaces(cluster: ClusterFacts, state: State) -> LostNamespaces:
    """The namespaces of earlier updates that the cluster has not any more; in another cluster none is lost."""
    known_uid = known_cluster_uid(state)
    return LostNamespaces(state, cluster.namespaces.keys() if known_uid in (None, cluster.uid) else None)


def terminating(config: StackConfig, cluster: ClusterFacts, state: State) -> set[str]:
    """Namespaces that are being deleted, of tenants that the stack lists or has listed."""
    return set(cluster.terminating & (_namespaces_of_tenants(config).keys() | state.names(NAMESPACE_TYPE)))


def held_namespaces(config: StackConfig, holds: Mapping[str, NamespaceHolds | None], stack_file: str) -> list[Problem]:
    """Namespaces of listed tenants that are still being deleted: nothing can be created in them.

    Args:
        config: the stack.
        holds: what keeps each of the namespaces that are being deleted.
        stack_file: name of the stack's file.
    """
    return [
        Problem(
            stack_file,
            f"tenants.{tenant}",
            f"the namespace {name!r} is still being deleted; wait until it is gone, and run it again"
            if not found
            else f"the namespace {name!r} is still being deleted and held; once nothing needs these finalizers, "
            f"release it, and run it again:{found.told(config.cluster.context)}",
        )
        for name, tenant in _namespaces_of_tenants(config).items()
        if name in holds and (found := holds[name]) is not None
    ]


def _emptied_namespaces(config: StackConfig, lost: LostNamespaces, stack_file: str) -> list[Problem]:
    """Namespaces that went with everything that the stack had put there, which is more than an offboarding leaves."""
    tenants = _namespaces_of_tenants(config)
    return [
        Problem(
            stack_file,
            f"tenants.{tenants[name]}",
            f"the namespace {name!r} is gone from the cluster, with {len(contents)} of this stack's objects; if that "
            "was meant, run `pulumi refresh`, and then this again, which creates them anew",
        )
        for name in lost.among(tenants)
        if (contents := lost.contents(name))
    ]


def _namespaces_of_tenants(config: StackConfig) -> dict[str, str]:
    """The tenant of each namespace."""
    return {name: tenant for tenant, each in config.tenants.items() for name in each.namespace_names}


def _unknown_policies(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """A cluster that would not know the policies that it is to evaluate itself."""
    if not config.policies.engine.native or minor(cluster.version) >= NATIVE_SINCE:
        return []
    since = ".".join(map(str, NATIVE_SINCE))
    return [
        Problem(
            stack_file,
            "policies.engine",
            f"{config.policies.engine.value} needs ValidatingAdmissionPolicies, which Kubernetes has since {since}; "
            f"the cluster runs {cluster.version}; upgrade it, or set policies.engine to kyverno",
        )
    ]


def _unknown_places(config: StackConfig, existing: Collection[str], stack_file: str) -> list[Problem]:
    """Namespaces in which Flux is to act as somebody and that nobody has made."""
    made = {FLUX_NAMESPACE, *existing, *(name for tenant in config.tenants.values() for name in tenant.namespace_names)}
    return [
        Problem(
            stack_file,
            f"flux.impersonate[{index}].namespace",
            f"the cluster has no namespace {entry.namespace!r}; create it first, or let the platform's repository "
            "bring the Role together with it (docs/controller-rights.md)",
        )
        for index, entry in enumerate(config.flux.impersonate)
        if entry.namespace not in made
    ]


def _foreign_flux(cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A Flux that somebody else has installed: two would fight over every object."""
    if FLUX_NAMESPACE not in cluster.namespaces or FLUX_NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    if FLUX_NAMESPACE in cluster.marked and names_cluster(state, cluster.uid):
        return []
    remedy = "set cluster.adopt to take it over (docs/adoption.md), or remove it"
    return [
        Problem(stack_file, "flux", f"the cluster has a namespace {FLUX_NAMESPACE} that is not this stack's; {remedy}")
    ]


def foreign_kyverno(
    cluster: ClusterFacts, webhooks: Mapping[str, bool], state: State, stack_file: str
) -> list[Problem]:
    """A Kyverno that somebody else has installed: both would write the same webhook configurations.

    Not even `cluster.adopt` takes it over: its settings, which decide what it lets pass, are not the stack's.

    Args:
        cluster: who the cluster is.
        webhooks: Kyverno's webhook configurations there, each with whether this program has applied it.
        state: what earlier updates of this stack have left.
        stack_file: name of the stack's file.
    """
    if NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    begun = names_cluster(state, cluster.uid)
    ours = cluster.marked if begun else frozenset()
    found = [f"the namespace {NAMESPACE}"] if NAMESPACE in cluster.namespaces.keys() - ours else []
    # Of an update that went no further than these.
    own = {name for manifest in webhook_configurations() for name in state.names(resource_type(manifest))}
    own |= {name for name, marked in webhooks.items() if marked and begun}
    found += [f"the webhook configuration {name}" for name in sorted(webhooks.keys() - own)]
    if not found:
        return []
    return [
        Problem(
            stack_file,
            "kyverno",
            f"the cluster has a Kyverno that is not this stack's ({', '.join(found)}), which cannot be taken over; "
            "uninstall it, or leave out kyverno",
        )
    ]


def _foreign_namespaces(
    tenants: Mapping[str, TenantConfig], existing: Mapping[str, Mapping[str, str]], stack_file: str
) -> list[Problem]:
    """Namespaces of a tenant that exist already and are not the tenant's (threat 27)."""
    return [
        Problem(
            stack_file,
            f"tenants.{tenant}",
            f"the namespace {namespace!r} exists in the cluster and is not this tenant's; choose another name, or hand "
            f"it over with `kubectl label namespace {namespace} {TENANT_LABEL}={tenant}`",
        )
        for tenant, config in tenants.items()
        for namespace in config.namespace_names
        if namespace in existing and existing[namespace].get(TENANT_LABEL) != tenant
    ]
