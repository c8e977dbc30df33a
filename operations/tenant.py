"""`make tenant`: onboards, suspends, resumes, moves and offboards a tenant, in the files of the project.

Each command shows the preview of every stack that it changes, and changes no cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import pyrage
import typer

from components.cluster.client import ClusterUnavailable, connect
from components.config.messages import Message
from components.config.printable import printable
from components.stack.files.names import stack_file_name, tenant_file_name
from operations import tenant_changes
from operations.applied_place import not_applied
from operations.described_cluster import described_cluster
from operations.described_stack import described_tenant
from operations.errors import Operation, OperationError, invalid, run_all
from operations.live_tenant import live_tenant
from operations.new_tenant import NewTenant, Onboarded, onboard
from operations.project_edits import ProjectEdits
from operations.stack_preview import show_preview
from operations.tenant_backup import backup_files, read_contents, read_recipient, write_backup

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False, no_args_is_help=True)

Stacks = Annotated[list[str], typer.Option("--stack", help="name of a stack, one for each environment")]
Tenant = Annotated[str, typer.Argument(help="name of the tenant")]
Preview = Annotated[bool, typer.Option(help="show what the next update would do")]


@app.command(cls=Operation)
def new(
    tenant: Tenant,
    stack: Stacks,
    repo: Annotated[str, typer.Option(help="URL of its repository; without it, its base file has to exist")] = "",
    namespace: Annotated[str, typer.Option(help="its namespaces, with commas; its own name by default")] = "",
    github: Annotated[str, typer.Option(help="owner/name at GitHub, to register the deploy key")] = "",
    branch: Annotated[str, typer.Option(help="branch of the repository")] = "",
    folder: Annotated[str, typer.Option(help="folder of the repository for these stacks")] = "",
    preview: Preview = True,
) -> None:
    """Write the base file of a tenant, list it in stacks, and store a deploy key in each, encrypted."""
    edits = ProjectEdits(PROJECT)
    names = tuple(name for name in namespace.split(",") if name)
    onboarded = onboard(NewTenant(tenant, repo, names, github, branch, folder), stack, edits)
    edits.apply(stack)
    if repo:
        typer.echo(f"Wrote {tenant_file_name(tenant)}")
    for each in stack:
        typer.echo(f"Listed tenant {tenant} in {stack_file_name(each)}{_key_stored(onboarded, each)}")
    _tell_owners(onboarded)
    _preview(stack, preview)


@app.command(cls=Operation)
def suspend(tenant: Tenant, stack: Stacks, preview: Preview = True) -> None:
    """Let Flux no longer apply or prune for a tenant; what runs stays as it is."""
    _change(stack, preview, lambda each, edits: tenant_changes.suspend(tenant, each, edits))


@app.command(cls=Operation)
def resume(tenant: Tenant, stack: Stacks, preview: Preview = True) -> None:
    """Let Flux apply and prune again."""
    _change(stack, preview, lambda each, edits: tenant_changes.resume(tenant, each, edits))


@app.command(cls=Operation)
def move(
    tenant: Tenant,
    stack: Stacks,
    repo: Annotated[str, typer.Option(help="URL of another repository")] = "",
    github: Annotated[str, typer.Option(help="its owner/name at GitHub")] = "",
    branch: Annotated[str, typer.Option(help="another branch")] = "",
    folder: Annotated[str, typer.Option(help="another folder of the repository")] = "",
    source: Annotated[str, typer.Option(help="name of the source that moves; its own repository by default")] = "",
    sync: Annotated[str, typer.Option(help="name of the sync whose folder is another one")] = "",
    preview: Preview = True,
) -> None:
    """Let Flux apply a tenant's manifests from another place, and delete nothing on the way."""
    to, moves = tenant_changes.Move(repo, github, branch, folder, source, sync), {}

    def change(each: str, edits: ProjectEdits) -> None:
        def prunes(names: Sequence[str]) -> bool:
            return bool(names) and live_tenant(tenant, each, PROJECT, names).prunes

        moves[each] = tenant_changes.move(tenant, each, to, prunes, edits)

    _change(stack, preview, change)
    if keys := {each: done.key for each, done in moves.items() if done.key}:
        _tell_owners(Onboarded(repo, github or None, keys))
    for each, done in moves.items():
        typer.echo(
            f"Then run the same command again: until `pulumi up`, Flux prunes in {each}."
            if done.first_keeps
            else f"Once Flux has applied the new place: `make tenant MOVED={tenant} STACK={each}`, which prunes again."
        )


@app.command(cls=Operation)
def moved(tenant: Tenant, stack: Stacks, preview: Preview = True) -> None:
    """Let Flux prune again after a move, and show what it will no longer update or delete."""
    for each in stack:
        live = live_tenant(tenant, each, PROJECT, tenant_changes.kept_syncs(tenant, each, PROJECT))
        described = described_tenant(each, tenant, PROJECT).value
        try:
            if reason := live.not_ready or not_applied(live, described):
                raise OperationError(
                    Message(
                        "FT-OPS-309",
                        f"tenant {tenant} has not moved yet in stack {each}: {reason}",
                        f"run `pulumi up --stack {each}` and wait until Flux has applied the new place: if it "
                        "pruned before, it could delete what runs",
                    )
                )
            left_over = live.left_over()
        except ClusterUnavailable as error:
            raise invalid(error.as_problem(stack_file_name(each))) from None
        for left in left_over:
            typer.echo(f"{each}: {left} is not in the new place; it stays until somebody deletes it.")
    _change(stack, preview, lambda each, edits: tenant_changes.settle(tenant, each, edits))


@app.command(cls=Operation)
def offboard(
    tenant: Tenant,
    stack: Stacks,
    backup: Annotated[bool, typer.Option(help="write the tenant's objects to .backup/")] = True,
    age: Annotated[str, typer.Option(help="recipient of age, for whom the backup's Secrets are encrypted")] = "",
    preview: Preview = True,
) -> None:
    """Take the next of two steps: the sync and all access go, and then the namespaces with what is left in them."""
    recipient = read_recipient(age) if age else None
    edits, last = ProjectEdits(PROJECT), {}

    def leave(each: str) -> None:
        last[each] = tenant_changes.leave(tenant, each, edits)

    run_all(partial(leave, each) for each in stack)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    for each in stack if backup else ():
        _back_up(tenant, each, PROJECT / ".backup" / each / tenant / now, recipient)
    _apply(edits, stack, preview)
    for each, is_last in last.items():
        typer.echo(
            f"{each}: {tenant} leaves for good, with its namespaces."
            if is_last
            else f"{each}: this is the first step; to delete the namespaces, too, repeat it after `pulumi up`."
        )


def _back_up(tenant: str, stack: str, folder: Path, recipient: pyrage.x25519.Recipient | None) -> None:
    """Show what a tenant has in a cluster, and write it to a folder."""
    try:
        api = connect(described_cluster(stack, PROJECT), PROJECT)
        contents = read_contents(api, tenant, with_secrets=recipient is not None)
        write_backup(folder, files := backup_files(contents, recipient))
    except (ClusterUnavailable, OSError) as error:
        raise OperationError(
            Message(
                "FT-OPS-310",
                f"tenant {tenant} cannot be backed up: {error}",
                "correct it and run the command again, or add BACKUP=none to offboard without a backup",
            )
        ) from None
    for namespace in contents.namespaces:
        typer.echo(f"{stack}: namespace {namespace} has {contents.summary(namespace)}")
    for unread in contents.unread:
        typer.echo(f"{stack}: {printable(unread)} cannot be read, and is not in the backup")
    if files:
        without = "" if recipient else ", without Secrets"
        typer.echo(f"{stack}: backed up to {folder.relative_to(PROJECT)}{without} and without the data of volumes")


def _change(stacks: Sequence[str], preview: bool, change: Callable[[str, ProjectEdits], None]) -> None:
    edits = ProjectEdits(PROJECT)
    run_all(partial(change, each, edits) for each in stacks)
    _apply(edits, stacks, preview)


def _apply(edits: ProjectEdits, stacks: Sequence[str], preview: bool) -> None:
    edits.apply(stacks)
    if not (difference := edits.diff()):
        typer.echo("The files say so already.")
        return
    typer.echo(difference, nl=False)
    _preview(stacks, preview)


def _key_stored(onboarded: Onboarded, stack: str) -> str:
    if (key := onboarded.keys.get(stack)) is None:
        return ""
    return f", with a new {key.public.split()[0]} key, encrypted: {key.fingerprint}"


def _tell_owners(onboarded: Onboarded) -> None:
    """What somebody has to do at the Git host."""
    if not onboarded.keys:
        typer.echo("If the repository is not public, add credentials to the stack files (docs/git.md).")
    elif onboarded.repository is not None:
        typer.echo(f"`pulumi up` registers the keys, read-only, at {onboarded.repository}.")
    else:
        typer.echo(f"The owners of {onboarded.url} have to add these keys, with read access:")
        for stack, key in onboarded.keys.items():
            typer.echo(f"  {stack}: {key.public}")


def _preview(stacks: Sequence[str], preview: bool) -> None:
    for stack in stacks if preview else ():
        show_preview(stack, PROJECT)
    commands = " and ".join(f"`pulumi up --stack {stack}`" for stack in stacks)
    typer.echo(f"Next: review and commit the files, then run {commands}.")


if __name__ == "__main__":
    app(prog_name="python -m operations.tenant")
