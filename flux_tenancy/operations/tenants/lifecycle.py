"""Onboards and offboards a tenant, in the files of the project.

Each shows the preview of every stack that it changes, and changes no cluster.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyrage
import typer
import yaml
from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable, read_facts
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.keys.ssh_keys import SshKey, generate
from flux_tenancy.components.stack.files.project import stack_file_name, tenant_file_name
from flux_tenancy.components.sync.status import read_syncs
from flux_tenancy.components.tenant.capsule.config import TenancyMode
from flux_tenancy.components.tenant.config import TenantState
from flux_tenancy.components.tenant.leaving.deletion import bindings_of
from flux_tenancy.components.vocabulary.manifests import name_of, value_at
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, TENANT_LABEL
from flux_tenancy.operations.files.described_flux import tenant_source
from flux_tenancy.operations.files.project_edits import ProjectEdits, value_checks
from flux_tenancy.operations.stack.connected import connect_described, connect_to
from flux_tenancy.operations.stack.pulumi_cli import PULUMI_NOT_FOUND
from flux_tenancy.operations.tenants.backup import backup_files, read_contents, read_recipient, write_backup
from flux_tenancy.project.described_stack import (
    TENANTS,
    check_listed,
    described_section,
    described_stacks,
    listed_tenants,
)
from flux_tenancy.project.errors import OperationError, run_all

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


def offboard(tenant: str, stacks: Sequence[str], project: Path, backup: bool, age: str, preview: bool) -> None:
    """Take the next of two steps: the sync and all access go, and then the namespaces with what is left in them.

    The last step waits until the first is applied: one update of both would delete the namespaces before Flux prunes.

    Args:
        stacks: names of the stacks that it leaves.
        backup: whether its objects are written to `.backup/` first; otherwise, nothing is asked of the cluster.
        age: the recipient of age for whom the backup's Secrets are encrypted; empty leaves them out.
        preview: whether to show what the next update would do.

    Raises:
        OperationError: a stack does not list the tenant, its file cannot be changed, Pulumi fails, the first step is
            not applied yet, or the backup fails.
    """
    recipient = read_recipient(age) if age else None
    edits, last = ProjectEdits(project), {}

    def leave(each: str) -> None:
        last[each] = _leave(tenant, each, edits)

    run_all(partial(leave, each) for each in stacks)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    if backup:
        with _backing_up(tenant):
            apis = {each: connect_to(each, project) for each in stacks}
            run_all(partial(_check_has_left, tenant, each, apis[each]) for each in stacks if last[each])
        for each, api in apis.items():
            _back_up(tenant, each, api, project, Path(_BACKUPS, each, tenant, now), recipient)
    edits.apply(stacks)
    typer.echo(edits.diff(), nl=False)
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
    if left := _access_of(api, tenant):
        raise OperationError(
            Message(
                "FT-OPS-318",
                f"the cluster of stack {stack} still has {left[0]} of tenant {tenant}",
                f"run `pulumi up --stack {stack}` first, so that Flux prunes before the namespaces are deleted",
            )
        )


def _access_of(api: client.ApiClient, tenant: str) -> list[str]:
    """The syncs, releases and role bindings that the platform has created for a tenant, as `Kind namespace/name`.

    `state: leaving` deletes them, the bindings last, since Flux needs them to prune.
    """
    syncs = read_syncs(api, (KUSTOMIZATION, HELM_RELEASE))
    own = [each for each in syncs if (each["metadata"].get("labels") or {}).get(TENANT_LABEL) == tenant]
    return [
        *(f"{each['kind']} {name_of(each)}" for each in own),
        *(f"RoleBinding {name_of(each)}" for each in bindings_of(api, tenant)),
    ]


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


def _leave(tenant: str, stack: str, edits: ProjectEdits) -> bool:
    """Take the next step of an offboarding: `state: leaving`, and then no entry.

    Returns:
        whether it is the last step.
    """
    listed = listed_tenants(stack, edits.project)
    check_listed(tenant, listed, stack_file_name(stack))
    is_last = bool(value_at(listed, (tenant, "state")) == TenantState.LEAVING)
    if is_last:
        edits.remove(stack, (TENANTS, tenant))
    else:
        edits.set(stack, (TENANTS, tenant, "state"), TenantState.LEAVING.value)
    return is_last


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


OFFLINE_PREVIEW = (sys.executable, "-m", "flux_tenancy.command", "review", "diff", "--stack")


def show_preview(stack: str, project: Path) -> None:
    """Run `pulumi preview` for a stack, or `flux-tenancy review diff` if its cluster does not answer.

    Raises:
        OperationError: Pulumi cannot be run, or the preview fails.
    """
    try:
        read_facts(connect_described(stack, project))
    except ClusterUnavailable as error:
        typer.echo(f"Stack {stack} without its cluster, which does not answer ({error}):")
        # It prints its own errors; it also fails if a deletion has to be acknowledged first.
        subprocess.run([*OFFLINE_PREVIEW, stack], cwd=project)
        return
    typer.echo(f"Preview of stack {stack}:")
    try:
        done = subprocess.run(["pulumi", "preview", "--non-interactive", "--stack", stack], cwd=project)
    except FileNotFoundError:
        raise OperationError(PULUMI_NOT_FOUND()) from None
    if done.returncode != 0:
        raise OperationError(
            Message(
                "FT-OPS-306",
                f"the preview of stack {stack} failed",
                f"correct what it says and run `pulumi preview --stack {stack}`; the files stay changed",
            )
        )


_HEADER = """\
# yaml-language-server: $schema=../schemas/tenant.schema.json
# The base of the tenant {tenant}, shared by all environments. A stack that lists {tenant} has it.
"""


@dataclass(frozen=True)
class NewTenant:
    """A tenant as `flux-tenancy tenant new` describes it.

    Attributes:
        url: URL of its repository; empty if it has a base file already.
        namespaces: its namespaces; its own name if empty.
        repository: `owner/name` at GitHub, to register its deploy key there.
        branch: branch of the repository; empty for `main`.
        folder: folder of the repository for these stacks; empty for its root, or what the base file says.
    """

    name: str
    url: str = ""
    namespaces: tuple[str, ...] = ()
    repository: str = ""
    branch: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Onboarded:
    """The repository and the keys of a new tenant.

    Attributes:
        repository: the same at GitHub, if keys are registered there; otherwise None.
        keys: its new deploy key by stack; without one for a URL that takes none.
    """

    url: str
    repository: str | None
    keys: Mapping[str, SshKey]


class _Dumper(Dumper):
    """Items of lists are indented, as in the other base files."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def base_text(tenant: NewTenant, webhook: bool, makes_namespaces: bool = False) -> str:
    """The base file of a tenant.

    Args:
        webhook: whether pushes are announced to Flux.
        makes_namespaces: whether the tenant makes namespaces itself. Flux would give them all, and what is in them, the
            name of `sync.targetNamespace`.
    """
    namespaces = tenant.namespaces or (tenant.name,)
    source: dict[str, Any] = {"url": tenant.url}
    if tenant.repository:
        source["github"] = {"repository": tenant.repository}
        source |= {"webhook": {}} if webhook else {}
    if tenant.branch:
        source["branch"] = tenant.branch
    content: dict[str, Any] = {"namespaces": [{"name": name} for name in namespaces], "source": source}
    if len(namespaces) == 1 and not makes_namespaces:
        content["sync"] = {"targetNamespace": namespaces[0]}
    return _HEADER.format(tenant=tenant.name) + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=2**20)


def onboard(tenant: NewTenant, stacks: Sequence[str], edits: ProjectEdits) -> Onboarded:
    """Collect the changes of an onboarding.

    Raises:
        OperationError: the name is taken, a value is not usable, or Pulumi cannot encrypt a key.
    """
    project = edits.project
    run_all(_checks(tenant, stacks, project))
    if tenant.url:
        announced = bool(tenant.repository) and all(
            described_section(stack, "flux", project).get("webhookUrl") for stack in stacks
        )
        makes_namespaces = any(
            described_section(stack, "tenancy", project).get("mode") == TenancyMode.CAPSULE.value for stack in stacks
        )
        edits.create(tenant_file_name(tenant.name), base_text(tenant, announced, makes_namespaces))
        url, repository = tenant.url, tenant.repository or None
    else:
        source = tenant_source(stacks[0], tenant.name, project)
        url, repository = source.url, source.repository
    keys = {}
    for stack in stacks:
        edits.set(stack, (TENANTS, tenant.name), {"sync": {"path": tenant.folder}} if tenant.folder else {})
        if url.startswith("ssh://"):
            keys[stack] = generate()
            edits.set_secret(stack, (TENANTS, tenant.name, "source", "deployKey"), keys[stack].private)
    return Onboarded(url, repository, keys)


def _checks(tenant: NewTenant, stacks: Sequence[str], project: Path) -> Iterator[Callable[[], None]]:
    yield from value_checks(
        {
            "TENANT": tenant.name,
            "--repo": tenant.url,
            "--namespace": tenant.namespaces,
            "--github": tenant.repository,
            "--branch": tenant.branch,
            "--folder": tenant.folder,
        }
    )
    for stack in stacks:
        yield partial(_check_not_listed, tenant, stack, project)
    yield partial(_check_file, tenant, project)


def _check_not_listed(tenant: NewTenant, stack: str, project: Path) -> None:
    if tenant.name in listed_tenants(stack, project):
        others = [each for each in described_stacks(project) if tenant.name not in listed_tenants(each, project)]
        raise OperationError(
            Message(
                "FT-OPS-304",
                f"{stack_file_name(stack)} lists {tenant.name} already",
                f"name only stacks that do not list it: {' or '.join(others) or 'none is left'}",
            )
        )


def _check_file(tenant: NewTenant, project: Path) -> None:
    file = tenant_file_name(tenant.name)
    exists = (project / file).exists()
    if tenant.url and exists:
        raise OperationError(
            Message(
                "FT-OPS-302",
                f"{file} exists already",
                f"choose another name, or leave --repo out to list {tenant.name} in another stack",
            )
        )
    if not tenant.url and not exists:
        raise OperationError(
            Message(
                "FT-OPS-303",
                f"there is no {file}",
                "add --repo ssh://git@<host>/<owner>/<repository>.git, to write it",
            )
        )
    if exists:
        given = {"--namespace": tenant.namespaces, "--github": tenant.repository, "--branch": tenant.branch}
        if keys := [key for key, value in given.items() if value]:
            raise OperationError(
                Message(
                    "FT-OPS-305",
                    f"{' and '.join(keys)} would change {file}, which other stacks use",
                    "leave it out, and edit the file by hand",
                )
            )
