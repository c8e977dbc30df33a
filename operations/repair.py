"""`make repair`: prepares cluster and state so that the next `pulumi up` restores what differs from the stack.

An update compares the stack with the state, not with the cluster. So the state of each object that is missing or
changed is refreshed; the next update then creates or applies it, in its order and with its hooks. Applying an object
does not remove what other field managers have added to it, so that is removed here. What is not of the stack stays.

An update that is held to an approval is refused here already, before anything is changed.
"""

from __future__ import annotations

import copy
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from kubernetes import client
from kubernetes.dynamic.exceptions import NotFoundError

from components.cluster.client import ClusterUnavailable, ask, collection_of, explaining, get
from components.cluster.manifests import Manifest
from components.config.errors import coded
from components.config.printable import printable
from components.stack.approval import VARIABLE, compare_with_approved
from operations import managed_fields
from operations.differences import Difference, What
from operations.drift_search import find_drift
from operations.drift_text import as_text
from operations.errors import Operation, OperationError
from operations.pulumi_cli import run_pulumi
from operations.recorded_state import read_recorded
from operations.wordings import FIELDS_STAY, UNKNOWN_TO_PULUMI

PROJECT = Path(__file__).parents[1]
_JSON_PATCH = "application/json-patch+json"

app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def repair(stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")]) -> None:
    """Prepare that the next update of the stack restores what is missing or changed, and remove what was added.

    Does nothing if the stack has not been applied yet, or if the cluster is as the last update has left it. Refuses, as
    the update will, if FLUX_TENANCY_APPROVED is set and something else was approved.
    """
    if (approved := os.environ.get(VARIABLE)) is not None:
        _hold_to_approved(stack, approved)
    try:
        recorded = read_recorded(stack, PROJECT)
    except OperationError as error:
        if error.code == UNKNOWN_TO_PULUMI.code:
            return
        raise
    if not recorded.objects:
        return
    found, api = find_drift(recorded, stack, PROJECT)
    if not found.differences:
        return
    typer.echo(as_text(found), err=True)
    for urn, fields in _added(found.differences).items():
        each = next(each for each in found.differences if each.urn == urn)
        try:
            _remove(api, each, fields)
        except ClusterUnavailable as error:
            name = printable("/".join(filter(None, (each.namespace, each.name))))
            listed = ", ".join(printable(managed_fields.shown(path)) for path in fields)
            message = FIELDS_STAY(kind=each.kind, name=name, fields=listed, reason=error)
            typer.echo(f"warning: {coded(message)}", err=True)
    if stale := sorted({each.urn for each in found.differences if each.what in (What.MISSING, What.CHANGED)}):
        targets = [part for urn in stale for part in ("--target", urn)]
        run_pulumi(["refresh", "--yes", "--skip-preview", *targets], stack, PROJECT)


def _hold_to_approved(stack: str, approved: str) -> None:
    done = compare_with_approved(stack, approved, PROJECT)
    typer.echo(done.stderr or done.stdout, err=True, nl=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def removal(found: Manifest, fields: Iterable[managed_fields.Path]) -> list[dict[str, Any]]:
    """The JSON Patch that removes fields, if the object is still the one that was read.

    Source: https://www.rfc-editor.org/rfc/rfc6902
    """
    rest = copy.deepcopy(found)
    patch = [{"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}]
    for path in fields:
        if managed_fields.value_at(rest, path) is managed_fields.MISSING:
            continue
        patch.append({"op": "remove", "path": managed_fields.pointer(rest, path)})
        managed_fields.remove(rest, path)
    return patch


def _added(differences: Sequence[Difference]) -> dict[str, list[managed_fields.Path]]:
    """The fields to remove, by resource."""
    fields: dict[str, list[managed_fields.Path]] = defaultdict(list)
    for each in differences:
        if each.foreign_fields:
            fields[each.urn] += each.foreign_fields
    return dict(fields)


def _remove(api: client.ApiClient, each: Difference, fields: Sequence[managed_fields.Path]) -> None:
    path = _path(each)
    with explaining(api):
        try:
            patch = removal(get(api, path), fields)
            ask(api, "PATCH", path, patch, content_type=_JSON_PATCH)
        except NotFoundError:
            return


def _path(each: Difference) -> str:
    """The path of an object of the stack in the API."""
    collection = collection_of(each.urn.split("::")[2].rpartition("$")[2])
    assert collection is not None  # Only objects of the cluster are compared.
    root, _, plural = collection.rpartition("/")
    within = f"/namespaces/{each.namespace}" if each.namespace else ""
    # A role may have almost any name.
    return f"{root}{within}/{plural}/{quote(each.name, safe='')}"


if __name__ == "__main__":
    app(prog_name="python -m operations.repair")
