"""What is done in the cluster and at GitHub before the first resource: clean-up, access of teams, and adoption."""

from __future__ import annotations

import pulumi

from flux_tenancy.components.cluster.adoption import adopt
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.recovery.field_owners import take_back
from flux_tenancy.components.recovery.github_leftovers import clear_github
from flux_tenancy.components.recovery.leftover_objects import clear_objects
from flux_tenancy.components.recovery.leftover_releases import clear_release
from flux_tenancy.components.stack.cluster.preflight import Preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.delegation import end_team_access


async def prepare(config: StackConfig, found: Preflight, state: State) -> None:
    """Log what the preflight warns about, remove what killed updates have left, and adopt what exists already.

    The teams of a tenant that is leaving lose their access with it.

    A preview only logs.

    Raises:
        pulumi.RunError: the cluster or GitHub refuses, or does not answer.
    """
    for warning in found.warnings:
        log.warn(warning)
    cluster = found.cluster
    take_back(cluster.api, cluster.co_owners)
    clear_github(config.github, found.leftovers)
    clear_release(cluster.api, KYVERNO, cluster.kyverno_release)
    clear_release(cluster.api, CAPSULE, cluster.capsule_release)
    clear_objects(cluster.api, cluster.leftovers)
    end_team_access(cluster.api, config.tenants)
    if config.cluster.adopt:
        named = (planned.manifest for _, planned in stack_plan(config, pulumi.get_stack()).named_in_tenants)
        await adopt(cluster.api, state, [*found.release, *named])
