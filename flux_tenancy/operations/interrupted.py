"""Clears what an interrupted update has left, once the next one has succeeded.

An update that was killed has recorded nothing, so the next one applies its objects again. What the update itself cannot
see is left for afterwards: Secrets with generated names that were in use, and what differs from the state by now.
"""

from __future__ import annotations

from pathlib import Path

import typer

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.leftover_objects import delete_objects, leftover_secrets, paths_of
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.operations.drift_search import SECRET, Lists, read_lists
from flux_tenancy.operations.recorded_state import RecordedState, read_recorded
from flux_tenancy.operations.repair import repair
from flux_tenancy.operations.stack_cluster import connect_described
from flux_tenancy.project.errors import invalid

_OF_FLUX = ".toolkit.fluxcd.io/"


def finish(stack: str, project: Path) -> None:
    """Delete the Secrets of a killed update, and restore what the update has left.

    Raises:
        OperationError: the state or the cluster cannot be read, or something still differs.
    """
    recorded = read_recorded(stack, project)
    try:
        api = connect_described(stack, project)
        with explaining(api):
            lists, _ = read_lists(api, {each.type for each in recorded.objects} | {SECRET})
            left = leftover_secret_paths(recorded, lists)
            delete_objects(api, left)
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    if left:
        secrets = f"{len(left)} Secret{'s' * (len(left) != 1)}"
        typer.echo(f"An earlier update was interrupted: {secrets} deleted that it has left.", err=True)
    repair(stack, project)


def leftover_secret_paths(recorded: RecordedState, lists: Lists) -> list[str]:
    """The API paths of the Secrets with generated names that nothing uses any more."""
    state = State({(each.type, each.urn): each.manifest for each in recorded.objects})
    referring = [each for type_, listed in lists.items() if _OF_FLUX in type_ for each in listed]
    secrets = (each["metadata"] for each in lists.get(SECRET, ()))
    return paths_of("secrets", leftover_secrets(secrets, referring, state))
