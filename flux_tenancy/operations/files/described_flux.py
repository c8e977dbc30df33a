"""Sources and syncs as the files describe them; the stack need not be valid, since a source may still lack its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_tenancy.components.installs.flux.component import default_path
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.tenant.config import SyncConfig
from flux_tenancy.components.vocabulary.manifests import value_at
from flux_tenancy.operations.files.yaml_edits import Keys
from flux_tenancy.project.described_stack import PLATFORM_SYNC, TENANTS, described_platform, described_tenant


@dataclass(frozen=True)
class DescribedSource:
    """A source as it is in the files.

    Attributes:
        owner: what messages call its owner: `tenant dev-team`, or `the platform`.
        path: path of the source in the stack, e.g. `("tenants", "dev-team", "source")`.
        url: URL of the repository; empty if neither file has one yet.
        repository: `owner/name` at GitHub, if the program registers keys there; otherwise None.
        has_deploy_key: whether it has a deploy key already.
    """

    owner: str
    path: Keys
    file: str
    url: str
    repository: str | None
    has_deploy_key: bool


def tenant_source(stack: str, tenant: str, project: Path) -> DescribedSource:
    """The source of a tenant that the stack lists, or of one with a base file that is about to be listed.

    Raises:
        OperationError: the stack or the tenant does not exist.
    """
    source = described_tenant(stack, tenant, project, may_be_new=True).value.get("source")
    return _source(f"tenant {tenant}", (TENANTS, tenant, "source"), stack_file_name(stack), source)


def platform_source(stack: str, project: Path) -> DescribedSource:
    """The source of the platform's own sync.

    Raises:
        OperationError: the stack does not exist or has no such sync.
    """
    source = described_platform(stack, project).get("source")
    return _source("the platform", (*PLATFORM_SYNC, "source"), stack_file_name(stack), source)


def _source(owner: str, path: Keys, file: str, source: Any) -> DescribedSource:
    repository = value_at(source, ("github", "repository"))
    has_key = value_at(source, ("deployKey",)) is not None
    return DescribedSource(owner, path, file, str(value_at(source, ("url",)) or ""), repository, has_key)


@dataclass(frozen=True)
class DescribedSync:
    """A sync as it is in the files.

    Attributes:
        owner: what messages call its owner: `tenant dev-team`, or `the platform`.
        option: the commands' argument for the owner: `dev-team`, or `--platform`.
        path: path of its decryption in the stack, e.g. `("tenants", "dev-team", "sync", "decryption")`.
        folder: the folder of the repository that it applies.
        decryption: the section, with secrets encrypted; empty if there is none.
    """

    owner: str
    option: str
    path: Keys
    file: str
    folder: str
    decryption: Mapping[str, Any]


def described_sync(stack: str, tenant: str, project: Path) -> DescribedSync:
    """The sync of a tenant, or the platform's own if the tenant's name is empty.

    Raises:
        OperationError: the stack does not exist or has no such sync.
    """
    path: Keys
    if tenant:
        sync = described_tenant(stack, tenant, project).value.get("sync")
        owner, option, path = f"tenant {tenant}", tenant, (TENANTS, tenant, "sync")
        default = SyncConfig.model_fields["path"].default
    else:
        sync = described_platform(stack, project)
        owner, option, path = "the platform", "--platform", PLATFORM_SYNC
        default = default_path(stack)
    sync = sync if isinstance(sync, Mapping) else {}
    decryption = sync.get("decryption")
    return DescribedSync(
        owner,
        option,
        (*path, "decryption"),
        file=stack_file_name(stack),
        folder=str(sync.get("path") or default),
        decryption=decryption if isinstance(decryption, Mapping) else {},
    )


def has_syncs(described: Mapping[str, Any]) -> bool:
    """Whether Flux applies folders for the tenant, as `TenantConfig.has_syncs` says it of a valid one."""
    given = any(key in described for key in ("sync", "source")) or bool(described.get("syncs"))
    return given or not described.get("releases")
