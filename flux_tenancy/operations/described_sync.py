"""A sync and its decryption as the files describe them; all of it but the private keys is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_tenancy.components.installs.flux.platform_sync import default_path
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.tenant.config import SyncConfig
from flux_tenancy.operations.yaml_edits import Keys
from flux_tenancy.project.described_stack import PLATFORM, TENANTS, described_platform, described_tenant


@dataclass(frozen=True)
class DescribedSync:
    """A sync as it is in the files.

    Attributes:
        owner: what messages call its owner: `tenant dev-team`, or `the platform`.
        option: the commands' argument for the owner: `dev-team`, or `--platform`.
        path: path of its decryption in the stack, e.g. `("tenants", "dev-team", "sync", "decryption")`.
        file: the stack's file.
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
        owner, option, path = "the platform", "--platform", PLATFORM
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
