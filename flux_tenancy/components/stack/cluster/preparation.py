"""What is done in the cluster and at GitHub before the first resource: clean-up, access of teams, and adoption."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pulumi

from flux_tenancy.components.cluster.adoption import adopt
from flux_tenancy.components.cluster.component import known_cluster_uid
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.field_owners import take_back
from flux_tenancy.components.recovery.github_leftovers import clear_github
from flux_tenancy.components.recovery.leftover_objects import clear_objects
from flux_tenancy.components.stack.cluster.preflight import Preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.delegation import end_team_access

_MANY_TENANTS = 20
# Source: SkipCheckpoints in sdk/go/common/env/env.go of Pulumi
_STATE_AT_THE_END = "PULUMI_SKIP_CHECKPOINTS"


def slow_first_update(tenants: int, state: State, environ: Mapping[str, str]) -> Message | None:
    """That the first update of many tenants writes the state again and again, if it does.

    Args:
        tenants: their number.
        state: the stack's state.
        environ: the environment.
    """
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

    A preview only logs.

    Raises:
        pulumi.RunError: the cluster or GitHub refuses, or does not answer.
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
