"""Onboards, suspends, resumes, moves and offboards a tenant, in the files of the project.

Each function shows the preview of every stack that it changes, and changes no cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyrage
import typer
from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.files.names import stack_file_name, tenant_file_name
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.operations.stack.connected import connect_to
from flux_tenancy.operations.stack.preview import show_preview
from flux_tenancy.operations.tenants import changes as tenant_changes
from flux_tenancy.operations.tenants.applied_place import not_applied
from flux_tenancy.operations.tenants.backup import backup_files, read_contents, read_recipient, write_backup
from flux_tenancy.operations.tenants.live import access_of, live_tenant
from flux_tenancy.operations.tenants.new import NewTenant, Onboarded, onboard
from flux_tenancy.project.described_stack import described_tenant
from flux_tenancy.project.errors import OperationError, invalid, run_all

_BACKUPS = ".backup"
_NOT_BACKED_UP = Wording(
    "FT-OPS-310",
    "tenant {tenant} cannot be backed up: {reason}",
    "correct it and run the command again, or add --no-backup to offboard without a backup",
)


def new(tenant: NewTenant, stacks: Sequence[str], project: Path, preview: bool) -> None:
    """Write the base file of a tenant, list it in stacks, and store a deploy key in each, encrypted.

    Raises:
        OperationError: the name is taken, a value is not usable, a stack would not be valid, or Pulumi fails.
    """
    edits = ProjectEdits(project)
    onboarded = onboard(tenant, stacks, edits)
    edits.apply(stacks)
    if tenant.url:
        typer.echo(f"Wrote {tenant_file_name(tenant.name)}")
    for each in stacks:
        typer.echo(f"Listed tenant {tenant.name} in {stack_file_name(each)}{_key_stored(onboarded, each)}")
    _tell_owners(onboarded)
    _preview(stacks, project, preview)


def suspend(tenant: str, stacks: Sequence[str], project: Path, preview: bool) -> None:
    """Let Flux no longer apply or prune for a tenant; what runs stays as it is.

    Raises:
        OperationError: a stack does not list the tenant, its file cannot be changed, or Pulumi fails.
    """
    if _change(stacks, project, partial(tenant_changes.suspend, tenant)):
        _preview(stacks, project, preview)


def resume(tenant: str, stacks: Sequence[str], project: Path, preview: bool) -> None:
    """Let Flux apply and prune again.

    Raises:
        OperationError: as of `suspend`.
    """
    if _change(stacks, project, partial(tenant_changes.resume, tenant)):
        _preview(stacks, project, preview)


def move(tenant: str, to: tenant_changes.Move, stacks: Sequence[str], project: Path, preview: bool) -> None:
    """Let Flux apply a tenant's manifests from another place, and delete nothing on the way.

    Raises:
        OperationError: as of `suspend`, nothing is to be moved, or the cluster of a stack does not answer.
    """
    moves: dict[str, tenant_changes.Moved] = {}

    def change(each: str, edits: ProjectEdits) -> None:
        def prunes(names: Sequence[str]) -> bool:
            return bool(names) and live_tenant(tenant, each, project, names).prunes

        moves[each] = tenant_changes.move(tenant, each, to, prunes, edits)

    has_changed = _change(stacks, project, change)
    if keys := {each: done.key for each, done in moves.items() if done.key}:
        _tell_owners(Onboarded(to.url, to.repository or None, keys))
    for each, done in moves.items():
        typer.echo(
            f"{each}: until `pulumi up`, Flux prunes; then run the same command again."
            if done.first_keeps
            else f"Once Flux has applied the new place: `flux-tenancy tenant moved {tenant} --stack {each}`; "
            "Flux then prunes again."
        )
    if has_changed:
        _preview(stacks, project, preview)


def moved(tenant: str, stacks: Sequence[str], project: Path, preview: bool) -> None:
    """Let Flux prune again after a move, and show what it will no longer update or delete.

    Raises:
        OperationError: as of `suspend`, or Flux has not applied the new place yet.
    """
    for each in stacks:
        live = live_tenant(tenant, each, project, tenant_changes.kept_syncs(tenant, each, project))
        described = described_tenant(each, tenant, project).value
        try:
            if reason := live.not_ready or not_applied(live, described):
                raise OperationError(
                    Message(
                        "FT-OPS-309",
                        f"tenant {tenant} has not moved yet in stack {each}: {reason}",
                        f"run `pulumi up --stack {each}` and wait until Flux has applied the new location; pruning "
                        "earlier could delete running objects",
                    )
                )
            left_over = live.left_over()
        except ClusterUnavailable as error:
            raise invalid(error.as_problem(stack_file_name(each))) from None
        for left in left_over:
            typer.echo(f"{each}: {left} is not in the new place; it stays until somebody deletes it.")
    if _change(stacks, project, partial(tenant_changes.settle, tenant)):
        _preview(stacks, project, preview)


def offboard(tenant: str, stacks: Sequence[str], project: Path, backup: bool, age: str, preview: bool) -> None:
    """Take the next of two steps: the sync and all access go, and then the namespaces with what is left in them.

    The last step waits until the first is applied: one update of both would delete the namespaces before Flux prunes.

    Args:
        tenant: name of the tenant.
        stacks: names of the stacks that it leaves.
        project: folder of the Pulumi project.
        backup: whether its objects are written to `.backup/` first; otherwise, nothing is asked of the cluster.
        age: the recipient of age for whom the backup's Secrets are encrypted; empty leaves them out.
        preview: whether to show what the next update would do.

    Raises:
        OperationError: as of `suspend`, the first step is not applied yet, or the backup fails.
    """
    recipient = read_recipient(age) if age else None
    edits, last = ProjectEdits(project), {}

    def leave(each: str) -> None:
        last[each] = tenant_changes.leave(tenant, each, edits)

    run_all(partial(leave, each) for each in stacks)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    if backup:
        with _backing_up(tenant):
            apis = {each: connect_to(each, project) for each in stacks}
            run_all(partial(_check_has_left, tenant, each, apis[each]) for each in stacks if last[each])
        for each, api in apis.items():
            _back_up(tenant, each, api, project, Path(_BACKUPS, each, tenant, now), recipient)
    _apply(edits, stacks)
    for each, is_last in last.items():
        typer.echo(
            f"{each}: {tenant} leaves for good, with its namespaces."
            if is_last
            else f"{each}: this is the first step; to delete the namespaces, too, repeat it after `pulumi up`."
        )
    _preview(stacks, project, preview)


@contextmanager
def _backing_up(tenant: str) -> Iterator[None]:
    """Raise an OperationError for what a backup cannot read or write."""
    try:
        yield
    except (ClusterUnavailable, OSError) as error:
        raise OperationError(_NOT_BACKED_UP(tenant=tenant, reason=error)) from None


def _check_has_left(tenant: str, stack: str, api: client.ApiClient) -> None:
    """Check that the first step is applied: the preview of the command that took it may have failed."""
    if left := access_of(api, tenant):
        raise OperationError(
            Message(
                "FT-OPS-318",
                f"the cluster of stack {stack} still has {left[0]} of tenant {tenant}",
                f"run `pulumi up --stack {stack}` first, so that Flux prunes before the namespaces are deleted",
            )
        )


def _back_up(
    tenant: str,
    stack: str,
    api: client.ApiClient,
    project: Path,
    folder: Path,
    recipient: pyrage.x25519.Recipient | None,
) -> None:
    """Show what a tenant has in a cluster, and write it to a folder of the project."""
    with _backing_up(tenant):
        contents = read_contents(api, tenant, with_secrets=recipient is not None)
        if files := backup_files(contents, recipient):
            # Else a commit of everything would have what only one user may read.
            write_backup(project / _BACKUPS, {".gitignore": b"*\n"})
        write_backup(project / folder, files)
    if not contents.namespaces:
        # The kubeconfig may lead to another cluster.
        reason = f"{api.configuration.host} has no namespace of it"
        raise OperationError(_NOT_BACKED_UP(tenant=tenant, reason=reason))
    for namespace in contents.namespaces:
        typer.echo(f"{stack}: namespace {namespace} has {contents.summary(namespace)}")
    for unread in contents.unread:
        typer.echo(f"{stack}: {printable(unread)} cannot be read, and is not in the backup")
    if files:
        without = "" if recipient else ", without Secrets"
        typer.echo(f"{stack}: backed up to {folder}{without} and without the data of volumes")


def _change(stacks: Sequence[str], project: Path, change: Callable[[str, ProjectEdits], None]) -> bool:
    """Change the files of stacks, and show how; False if they say so already."""
    edits = ProjectEdits(project)
    run_all(partial(change, each, edits) for each in stacks)
    return _apply(edits, stacks)


def _apply(edits: ProjectEdits, stacks: Sequence[str]) -> bool:
    edits.apply(stacks)
    difference = edits.diff()
    typer.echo(difference or "The files say so already.\n", nl=False)
    return bool(difference)


def _key_stored(onboarded: Onboarded, stack: str) -> str:
    if (key := onboarded.keys.get(stack)) is None:
        return ""
    return f", with a new {key.public.split()[0]} key, encrypted: {key.fingerprint}"


def _tell_owners(onboarded: Onboarded) -> None:
    """Show what the owners of the repository have to do at the Git host."""
    if not onboarded.keys:
        typer.echo("If the repository is not public, add credentials to the stack files (docs/git.md).")
    elif onboarded.repository is not None:
        typer.echo(f"`pulumi up` registers the keys, read-only, at {onboarded.repository}.")
    else:
        typer.echo(f"The owners of {onboarded.url} have to add these keys, with read access:")
        for stack, key in onboarded.keys.items():
            typer.echo(f"  {stack}: {key.public}")


def _preview(stacks: Sequence[str], project: Path, preview: bool) -> None:
    for stack in stacks if preview else ():
        show_preview(stack, project)
    commands = " and ".join(f"`pulumi up --stack {stack}`" for stack in stacks)
    typer.echo(f"Next: review and commit the files, then run {commands}.")
