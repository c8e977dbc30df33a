"""The program of every project, which its `__main__.py` runs: read, check, prepare, register, report."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pulumi

from flux_tenancy.components.cluster.component import finder
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.code import code_problems
from flux_tenancy.components.engine.log import leave_out_debugging
from flux_tenancy.components.engine.state import read_state, unplanned
from flux_tenancy.components.git.github_preflight import gone_registrations
from flux_tenancy.components.git.rotation import previous_keys, rotations
from flux_tenancy.components.stack.cluster.preflight import preflight, prepare
from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.stack.loading import read_stack, stack_file
from flux_tenancy.components.stack.platform import register_platform
from flux_tenancy.components.stack.report.outputs import Look, report
from flux_tenancy.components.sync.progress import watch_changes
from flux_tenancy.components.sync.status import flux_objects
from flux_tenancy.components.tenant.further_access import read_further_access, read_further_controller_access
from flux_tenancy.components.tenant.leaving.remaining_objects import read_remains
from flux_tenancy.review.approval.guard import refuse_unapproved


def run(project: Path) -> None:
    """Run as the program of the engine: turn a cluster into a multi-tenant Flux platform.

    Args:
        project: folder of the Pulumi project, with its stacks' files and `tenants/`.

    Raises:
        RunError: the stack is not valid, or does not fit its cluster; nothing was applied.
    """
    pulumi.run(partial(_platform, project))


async def _platform(project: Path) -> dict[str, object]:
    leave_out_debugging()
    try:
        if problems := code_problems(project, read_project_file(project).environment):
            raise ConfigurationError(problems)
        file = stack_file(project)
        config = read_stack(project, file)
        state = await read_state()
        found = preflight(config, state, file, project)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None
    refuse_unapproved(pulumi.get_stack(), project, file)
    await prepare(config, found, state)
    api, find = found.cluster.api, finder(found.cluster.api, state)
    previous = previous_keys(config.git_sources, state, find)
    gone = gone_registrations(config.git_sources, previous, state)
    changes = watch_changes()

    platform = register_platform(config, found, previous, gone)

    look = Look(
        objects=flux_objects(api, platform.plan.flux_kinds),
        changes=changes,
        further_access=partial(read_further_access, api, state=state),
        further_controller_access=partial(read_further_controller_access, api, state),
        remaining=partial(read_remains, api),
        find=find,
        rotating=lambda progress: rotations(config.git_sources, previous, progress, find),
    )
    return report(config, found.cluster.facts, platform, look) | {
        "applied": unplanned(pulumi.Output.from_input(dict(found.applied)))
    }
