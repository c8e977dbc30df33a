"""What is known before the first resource exists: the pinned releases, and what was found in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import CapsuleRelease, read_capsule
from flux_tenancy.components.installs.flux.egress import SeenNames
from flux_tenancy.components.installs.flux.release import read_release
from flux_tenancy.components.installs.kyverno import kyverno_chart
from flux_tenancy.components.stack.checks.flux import spec_problems
from flux_tenancy.components.stack.cluster.deletions import protected_resources

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.cluster.component import ProtectedResource
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.components.git.github import Registration
    from flux_tenancy.components.installs.product import Chart
    from flux_tenancy.components.recovery.cluster import CoOwner
    from flux_tenancy.components.recovery.github_leftovers import Leftover
    from flux_tenancy.components.stack.cluster.conflicts import NameConflict
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_T = TypeVar("_T")


@dataclass(frozen=True)
class ClusterFindings:
    """What was found in the cluster.

    Attributes:
        facts: its identity, version and namespaces.
        state: what earlier updates have applied.
        co_owners: field managers that own fields of the stack's objects.
        leftovers: API paths of objects with generated names that a killed update has left.
        receivers_by_hand: URL paths of Receivers that this program registers nowhere; only read if the stack has a
            URL for webhooks.
        taken: names of the stack's objects that objects of others have.
        names: names of artifact servers that are replaced.
    """

    api: client.ApiClient
    facts: ClusterFacts
    state: State
    warnings: tuple[Message, ...]
    co_owners: list[CoOwner]
    leftovers: list[str]
    receivers_by_hand: Set[str] = frozenset()
    taken: tuple[NameConflict, ...] = ()
    names: SeenNames = SeenNames()


@dataclass(frozen=True)
class Preflight:
    """What was found before the first resource.

    Attributes:
        release: the objects of the Flux release, digest verified.
        chart: Kyverno's chart, digest verified; None if the stack has no Kyverno.
        cluster: what was found in the cluster.
        leftovers: what a killed update has left at GitHub.
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


def offline_preflight(config: StackConfig, stack: str, stack_file: str, project: Path) -> Preflight:
    """The part of the preflight that needs neither cluster nor GitHub: the pinned releases, and what is protected.

    What only a cluster can tell is as it is before the first update: no namespace exists, and the state is empty.

    Raises:
        ConfigurationError: a release cannot be read, has another digest, or refuses a field of a Flux object.
    """
    release, chart, capsule, problems = read_releases(config, stack_file, project)
    problems += spec_problems(config, release or (), stack, stack_file)
    if problems or release is None:  # One that is missing is a problem.
        raise ConfigurationError(problems)
    facts = ClusterFacts(uid=config.cluster.uid or "", version="", namespaces={})
    nothing = State({})
    api = cast("client.ApiClient", _NoCluster())
    cluster = ClusterFindings(api, facts, nothing, (), [], [])
    objects = [*release, *(capsule.definitions if capsule else ())]
    protected = protected_resources(config, objects, stack, facts, nothing)
    return Preflight(release, chart, cluster, [], (), protected, capsule)


def read_releases(
    config: StackConfig, stack_file: str, project: Path
) -> tuple[list[Manifest] | None, Chart | None, CapsuleRelease | None, list[Problem]]:
    """The objects of the Flux release, Kyverno's chart and Capsule's, digests verified, and what is wrong with each.

    Args:
        config: the stack; without Kyverno or Capsule, there is no chart.
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


def _pinned(read: Callable[[], _T], stack_file: str, problems: list[Problem]) -> _T | None:
    try:
        return read()
    except PinnedInputError as error:
        problems.append(error.as_problem(stack_file))
        return None


class _NoCluster:
    """Stands for the client of a cluster; to use it is a fault of this program."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError("a program that runs offline must not ask a cluster")
