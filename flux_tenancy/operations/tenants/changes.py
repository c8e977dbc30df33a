"""Changes of a tenant's entry in a stack: suspended, resumed, moved, removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.keys.ssh_keys import SshKey, generate
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.tenant.config import TenantState
from flux_tenancy.components.vocabulary.manifests import value_at
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY
from flux_tenancy.operations.files.described_flux import applied_paths, sync_paths, syncs_of
from flux_tenancy.operations.files.given_values import value_checks
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.project.described_stack import TENANTS, check_listed, described_tenant, listed_tenants
from flux_tenancy.project.errors import OperationError, run_all

_SUSPEND = "suspend"
_PRUNE = "prune"


@dataclass(frozen=True)
class Move:
    """Where a tenant's manifests are from now on; what is empty stays.

    Attributes:
        url: URL of the repository.
        repository: the same at GitHub, `owner/name`.
        branch: branch of the repository.
        folder: folder of the repository.
        source: name of the source that moves; empty for the tenant's own repository.
        sync: name of the sync whose folder is another one; empty for `sync`.
    """

    url: str = ""
    repository: str = ""
    branch: str = ""
    folder: str = ""
    source: str = ""
    sync: str = ""


def suspend(tenant: str, stack: str, edits: ProjectEdits) -> None:
    """Let Flux no longer apply, release or prune.

    Raises:
        OperationError: the stack does not list the tenant, or its file cannot be changed.
    """
    described = described_tenant(stack, tenant, edits.project)
    for path in applied_paths(tenant, described.value):
        edits.set(stack, (TENANTS, tenant, *path, _SUSPEND), True)


def resume(tenant: str, stack: str, edits: ProjectEdits) -> None:
    """Let Flux apply, release and prune again.

    Raises:
        OperationError: the stack does not list the tenant, or its file cannot be changed.
    """
    described = described_tenant(stack, tenant, edits.project)
    for path in applied_paths(tenant, described.value):
        suspended = (*path, _SUSPEND)
        if value_at(described.base, suspended) is True:
            edits.set(stack, (TENANTS, tenant, *suspended), False)
        else:
            edits.remove(stack, (TENANTS, tenant, *suspended))


@dataclass(frozen=True)
class Moved:
    """What a move has come to.

    Attributes:
        first_keeps: whether the files only say so far that nothing is pruned, which has to be applied before.
        key: the new deploy key, if the repository is another one and takes a key.
    """

    first_keeps: bool = False
    key: SshKey | None = None


def move(tenant: str, stack: str, to: Move, prunes: Callable[[Sequence[str]], bool], edits: ProjectEdits) -> Moved:
    """Let Flux apply another place, and prune nothing until `settle`.

    Flux deletes what is in its inventory and not in the new place. Without pruning, the inventory becomes that of the
    new place, and what is in both stays as it is. A new folder and the end of pruning are one change of one object. A
    source is an object of its own: Flux could apply its new content while it still prunes, so pruning ends before, in
    all syncs that apply it.

    Args:
        tenant: name of the tenant.
        stack: name of the stack.
        to: where to.
        prunes: asks the cluster whether Flux prunes in one of these Kustomizations.
        edits: collects the changes.

    Raises:
        OperationError: the stack does not list the tenant, a value is not usable, nothing is to be moved, or the file
            cannot be changed.
    """
    given = {"--repo": to.url, "--github": to.repository, "--branch": to.branch, "--folder": to.folder}
    run_all([*value_checks(given), partial(_check_named, tenant, stack, to, edits)])
    described = described_tenant(stack, tenant, edits.project).value
    source = ("sources", to.source) if to.source else ("source",)
    name = to.sync or tenant
    folder = (*sync_paths(tenant, described).get(name, ()), "path")
    values = {
        (*source, "url"): to.url,
        (*source, "github", "repository"): to.repository,
        (*source, "branch"): to.branch,
        folder: to.folder,
    }
    moved = {path: value for path, value in values.items() if value and value_at(described, path) != value}
    if not moved:
        raise OperationError(
            Message(
                "FT-OPS-307",
                f"{stack_file_name(stack)}: tenant {tenant} is there already",
                "name the new place with --repo, --branch or --folder",
            )
        )
    of_source = syncs_of(tenant, described, to.source) if moved.keys() - {folder} else []
    for each in dict.fromkeys([*of_source, *([name] if folder in moved else [])]):
        edits.set(stack, (TENANTS, tenant, *sync_paths(tenant, described)[each], _PRUNE), False)
    if prunes(of_source):
        return Moved(first_keeps=True)
    for path, value in moved.items():
        edits.set(stack, (TENANTS, tenant, *path), value)
    if (*source, "url") not in moved:
        return Moved()
    deploy_key = (TENANTS, tenant, *source, "deployKey")
    if not to.url.startswith("ssh://"):
        edits.remove(stack, deploy_key)
        return Moved()
    # A Git host takes a deploy key for one repository only.
    key = generate()
    edits.set_secret(stack, deploy_key, key.private)
    return Moved(key=key)


def _check_named(tenant: str, stack: str, to: Move, edits: ProjectEdits) -> None:
    """Check that the tenant has the source and the sync that are named."""
    described = described_tenant(stack, tenant, edits.project).value
    sources = described.get("sources")
    of_git = [name for name in sources if value_at(sources, (name, "kind")) == GIT_REPOSITORY] if sources else []
    syncs = sync_paths(tenant, described)
    sync = to.sync or (tenant if to.folder else "")
    for option, wanted, known in (("--source", to.source, of_git), ("--sync", sync, syncs)):
        if wanted and wanted not in known:
            raise OperationError(
                Message(
                    "FT-OPS-313",
                    f"{option}: tenant {tenant} has no {wanted} that can be moved",
                    f"name one of these: {' or '.join(known) or 'none'}",
                )
            )


def kept_syncs(tenant: str, stack: str, project: Path) -> list[str]:
    """The names of the Kustomizations that do not prune by the stack's own file; the tenant's own if there are none.

    Raises:
        OperationError: the stack does not list the tenant.
    """
    described = described_tenant(stack, tenant, project).value
    entry = listed_tenants(stack, project).get(tenant)
    kept = [name for name, path in sync_paths(tenant, described).items() if value_at(entry, (*path, _PRUNE)) is False]
    return kept or [tenant]


def settle(tenant: str, stack: str, edits: ProjectEdits) -> None:
    """Let Flux prune again after a move.

    Raises:
        OperationError: the stack does not list the tenant, or its file cannot be changed.
    """
    described = described_tenant(stack, tenant, edits.project).value
    for name in kept_syncs(tenant, stack, edits.project):
        edits.remove(stack, (TENANTS, tenant, *sync_paths(tenant, described)[name], _PRUNE))


def leave(tenant: str, stack: str, edits: ProjectEdits) -> bool:
    """Take the next step of an offboarding: `state: leaving`, and then no entry.

    Returns:
        whether it is the last step.

    Raises:
        OperationError: the stack does not list the tenant, or its file cannot be changed.
    """
    listed = listed_tenants(stack, edits.project)
    check_listed(tenant, listed, stack_file_name(stack))
    is_last = bool(value_at(listed, (tenant, "state")) == TenantState.LEAVING)
    if is_last:
        edits.remove(stack, (TENANTS, tenant))
    else:
        edits.set(stack, (TENANTS, tenant, "state"), TenantState.LEAVING.value)
    return is_last
