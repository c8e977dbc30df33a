"""What must hold before the first resource exists: a verified release, the right cluster, accessible repositories."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import pulumi

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.cluster.component import ProtectedResource
from flux_tenancy.components.cluster.ownership import names_cluster
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.engine.pulumi_command import creates_nothing, ignores_protection
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.github import Registration
from flux_tenancy.components.git.github_identity import identity_problems, unneeded_owners
from flux_tenancy.components.git.github_preflight import (
    lost_repositories,
    new_registrations,
    repository_problems,
    unregistered,
)
from flux_tenancy.components.git.host_keys import host_key_warnings
from flux_tenancy.components.git.sources import Sources, github_key_path
from flux_tenancy.components.installs.capsule.objects import CapsuleRelease, read_capsule
from flux_tenancy.components.installs.chart import Chart
from flux_tenancy.components.installs.flux.release import read_release
from flux_tenancy.components.installs.kyverno.objects import kyverno_chart
from flux_tenancy.components.recovery.github_leftovers import Leftover, github_leftovers
from flux_tenancy.components.recovery.missing_namespaces import LostNamespaces
from flux_tenancy.components.stack.checks.flux_specs import spec_problems
from flux_tenancy.components.stack.checks.freezes import freeze_warnings
from flux_tenancy.components.stack.checks.grants import expiring_grants
from flux_tenancy.components.stack.checks.store import overfull_store
from flux_tenancy.components.stack.checks.unlisted import unlisted_tenants
from flux_tenancy.components.stack.cluster.absence import absent_tenants, applied_files, older_files
from flux_tenancy.components.stack.cluster.checks import ClusterFindings, check_cluster
from flux_tenancy.components.stack.cluster.program_version import version_problems
from flux_tenancy.components.stack.cluster.protection import deletion_problems, protected_resources
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.vocabulary.manifests import Manifest

if TYPE_CHECKING:
    from kubernetes import client

_T = TypeVar("_T")


class _NoCluster:
    """Stands for the client of a cluster; to use it is a fault of this program."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError("a program that runs offline must not ask a cluster")


@dataclass(frozen=True)
class Preflight:
    """What was found before the first resource.

    Attributes:
        release: the objects of the Flux release, digest verified.
        chart: Kyverno's chart, digest verified; None if the stack has no Kyverno.
        cluster: what was found in the cluster.
        leftovers: what a killed update has left at GitHub.
        warnings: what the user should know and does not stop the update.
        protected: the resources that this update protects.
        capsule: Capsule's chart and definitions, digest verified; None if the stack has no Capsule.
        lost: what cannot be registered at GitHub, since a repository is gone that was there before.
        applied: the files from which the stack is applied, as the state has them.
    """

    release: list[Manifest]
    chart: Chart | None
    cluster: ClusterFindings
    leftovers: list[Leftover]
    warnings: tuple[Message, ...]
    protected: frozenset[ProtectedResource] = frozenset()
    capsule: CapsuleRelease | None = None
    lost: frozenset[Registration] = frozenset()
    applied: Mapping[str, Any] = field(default_factory=dict)


def preflight(config: StackConfig, state: State, file: StackFile, project: Path) -> Preflight:
    """Check the releases, the cluster, and the repositories where something is to be registered.

    Args:
        config: the stack.
        state: the stack's state.
        file: the stack's file.
        project: folder of the Pulumi project.

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
    of_owners = unneeded_owners(config.git_sources, stack_file)
    of_hosts = host_key_warnings(config.git_sources)
    of_files = () if deleting else unlisted_tenants(described.tenants, file, project)
    of_stack = (*expiring_grants(config), *freeze_warnings(config), *overfull_store(config, pulumi.get_stack()))
    warnings = (*cluster.warnings, *lost.values(), *of_owners, *of_hosts, *of_stack, *of_files, *unclear)
    protected = protected_resources(described, objects, pulumi.get_stack(), cluster.facts, state)
    return Preflight(release, chart, cluster, leftovers, warnings, protected, capsule, unregistrable, applied.outputs)


def offline_preflight(config: StackConfig, stack: str, stack_file: str, project: Path) -> Preflight:
    """The part of the preflight that needs neither cluster nor GitHub: the pinned releases, and what is protected.

    What only a cluster can tell is as it is before the first update: no namespace exists, and the state is empty.

    Args:
        config: the stack.
        stack: its name.
        stack_file: name of the stack's file.
        project: folder of the Pulumi project.

    Raises:
        ConfigurationError: a release cannot be read, has another digest, or refuses a field of a Flux object.
    """
    release, chart, capsule, problems = read_releases(config, stack_file, project)
    problems += spec_problems(config, release or (), stack, stack_file)
    if problems or release is None:  # One that is missing is a problem.
        raise ConfigurationError(problems)
    facts = ClusterFacts(uid=config.cluster.uid or "", version="", namespaces={})
    nothing = State({})
    lost = LostNamespaces(nothing, existing=None)
    api = cast("client.ApiClient", _NoCluster())
    cluster = ClusterFindings(api, facts, lost, (), [], [])
    objects = [*release, *(capsule.definitions if capsule else ())]
    protected = protected_resources(config, objects, stack, facts, nothing)
    return Preflight(release, chart, cluster, [], (), protected, capsule)


def read_releases(
    config: StackConfig, stack_file: str, project: Path
) -> tuple[list[Manifest] | None, Chart | None, CapsuleRelease | None, list[Problem]]:
    """The objects of the Flux release, Kyverno's chart and Capsule's, digests verified, and what is wrong with each.

    Args:
        config: the stack; without Kyverno or Capsule, there is no chart.
        stack_file: name of the stack's file.
        project: folder of the Pulumi project.
    """
    problems: list[Problem] = []
    release = _pinned(partial(read_release, config.flux, project), stack_file, problems)
    chart = None
    if config.kyverno is not None:
        chart = _pinned(partial(kyverno_chart, config.kyverno, project), stack_file, problems)
    capsule = None
    if config.capsule is not None:
        capsule = _pinned(partial(read_capsule, config.capsule, project), stack_file, problems)
    return release, chart, capsule, problems


def existing_only(config: StackConfig) -> StackConfig:
    """The stack without what is still to be created, which must not stop `pulumi destroy` and `pulumi refresh`.

    The cluster must be the right one all the same.
    """
    return config.model_copy(
        update={
            "cluster": config.cluster.model_copy(update={"adopt": True}),
            "flux": config.flux.model_copy(update={"sync": None, "impersonate": ()}),
            "tenants": {},
        }
    )


def _pinned(read: Callable[[], _T], stack_file: str, problems: list[Problem]) -> _T | None:
    try:
        return read()
    except PinnedInputError as error:
        problems.append(error.as_problem(stack_file))
        return None


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
