"""What must hold before the first resource exists, and what is done then in the cluster and at GitHub: clean-up, access
of teams, and adoption.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path

import pulumi

from flux_tenancy.components.cluster.adoption import adopt
from flux_tenancy.components.cluster.component import known_cluster_uid, names_cluster
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import creates_nothing, ignores_protection
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.config import Sources, github_key_path
from flux_tenancy.components.git.github_preflight import (
    identity_problems,
    lost_repositories,
    new_registrations,
    repository_problems,
    unregistered,
)
from flux_tenancy.components.recovery.field_owners import take_back
from flux_tenancy.components.recovery.github_leftovers import Leftover, clear_github, github_leftovers
from flux_tenancy.components.recovery.leftover_objects import clear_objects
from flux_tenancy.components.stack.checks.flux_specs import spec_problems
from flux_tenancy.components.stack.checks.freezes import freeze_warnings
from flux_tenancy.components.stack.checks.grants import expiring_grants
from flux_tenancy.components.stack.checks.limits import overfull_store
from flux_tenancy.components.stack.cluster.absence import (
    absent_tenants,
    applied_files,
    older_files,
    unlisted_tenants,
    version_problems,
)
from flux_tenancy.components.stack.cluster.checks import check_cluster
from flux_tenancy.components.stack.cluster.findings import Preflight, read_releases
from flux_tenancy.components.stack.cluster.protection import deletion_problems, protected_resources
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.leaving.access import end_team_access


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


_MANY_TENANTS = 20
# Source: SkipCheckpoints in sdk/go/common/env/env.go of Pulumi
_STATE_AT_THE_END = "PULUMI_SKIP_CHECKPOINTS"


def slow_first_update(tenants: int, state: State, environ: Mapping[str, str]) -> Message | None:
    """That the first update of many tenants writes the state again and again, if it does."""
    if tenants < _MANY_TENANTS or known_cluster_uid(state) is not None or environ.get(_STATE_AT_THE_END):
        return None
    return Message(
        "FT-CFG-874",
        f"the first update of {tenants} tenants by `pulumi up` writes the whole state twice for each object; "
        "`flux-tenancy up` writes it once, which takes a quarter of the time with 100 tenants (docs/sizing.md)",
    )


async def prepare(config: StackConfig, found: Preflight, state: State) -> None:
    """Log what the preflight warns about, remove what killed updates have left, and adopt what exists already.

    The teams of a tenant that is leaving lose their access with it.

    A preview only logs. Raises pulumi.RunError: the cluster or GitHub refuses, or does not answer.
    """
    if (hint := slow_first_update(len(config.tenants), state, os.environ)) is not None:
        log.info(hint)
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
