"""Ends what an interrupted update has left, once the next one has succeeded.

An update that was killed has recorded nothing, so the next one applies its objects again. What the update itself cannot
see is left for afterwards: the field managers of the killed one, and Secrets with generated names that were in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from flux_tenancy.components.cluster.client import ClusterUnavailable, connect, explaining
from flux_tenancy.components.cluster.ownership import applying_managers
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.field_owners import CoOwner, relinquish
from flux_tenancy.components.recovery.leftover_objects import delete_objects, leftover_secrets, paths_of
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.operations.described_cluster import described_cluster
from flux_tenancy.operations.drift_search import SECRET, Lists, read_lists
from flux_tenancy.operations.errors import invalid
from flux_tenancy.operations.recorded_state import Recorded, RecordedState, read_recorded
from flux_tenancy.operations.repair import repair

_OF_FLUX = ".toolkit.fluxcd.io/"


def finish(stack: str, project: Path) -> None:
    """End the field managers of a killed update, delete its Secrets, and restore what the update has left.

    Raises:
        OperationError: the state or the cluster cannot be read, or something still differs.
    """
    recorded = read_recorded(stack, project)
    try:
        api = connect(described_cluster(stack, project), project)
        with explaining(api):
            lists, _ = read_lists(api, {each.type for each in recorded.objects} | {SECRET})
            owners = list(former_managers(recorded.objects, lists))
            for each in owners:
                relinquish(api, each)
            left = leftover_secret_paths(recorded, lists)
            delete_objects(api, left)
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    typer.echo(
        f"An earlier update was interrupted: {len(owners)} of its field managers ended, {len(left)} objects deleted.",
        err=True,
    )
    repair(stack, project)


def former_managers(objects: Iterable[Recorded], lists: Lists) -> Iterator[CoOwner]:
    """The field managers of Pulumi that own fields of an object and are not its manager in the state.

    The provider draws a name when it creates an object. If that is not recorded, the next update creates the object
    again, by another name, and fields that the stack no longer sets would stay.

    Args:
        objects: the objects of the stack.
        lists: the objects of the cluster.
    """
    found = {(type_, name_of(each)): each for type_, listed in lists.items() for each in listed}
    for each in objects:
        now = found.get((each.type, name_of(each.manifest)))
        if now is None:
            continue
        metadata = {key: now["metadata"][key] for key in ("name", "namespace") if key in now["metadata"]}
        manifest = {"apiVersion": each.manifest["apiVersion"], "kind": each.manifest["kind"], "metadata": metadata}
        for manager in applying_managers(now["metadata"]):
            if manager != each.manager:
                yield CoOwner(manifest, manager)


def leftover_secret_paths(recorded: RecordedState, lists: Lists) -> list[str]:
    """The API paths of the Secrets with generated names that nothing uses any more."""
    state = State({(each.type, each.urn): each.manifest for each in recorded.objects})
    referring = [each for type_, listed in lists.items() if _OF_FLUX in type_ for each in listed]
    secrets = (each["metadata"] for each in lists.get(SECRET, ()))
    return paths_of("secrets", leftover_secrets(secrets, referring, state))
