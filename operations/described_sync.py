"""A sync and its decryption as the files describe them; all of it but the private keys is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_tenancy.components.installs.flux.platform_sync import default_path
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.tenant.config import SyncConfig
from flux_tenancy.operations.described_stack import described_platform, described_tenant


@dataclass(frozen=True)
class DescribedSync:
    """A sync as it is in the files.

    Attributes:
        owner: what messages call its owner: `tenant dev-team`, or `the platform`.
        option: the commands' argument for the owner: `dev-team`, or `--platform`.
        path: path of its decryption in the stack, e.g. `tenants.dev-team.sync.decryption`.
        file: the stack's file.
        folder: the folder of the repository that it applies.
        decryption: the section, with secrets encrypted; empty if there is none.
    """

    owner: str
    option: str
    path: str
    file: str
    folder: str
    decryption: Mapping[str, Any]

    def at(self, key: str) -> Any:
        """The value of a key below `decryption`, such as `age.recipients`; None if it is not set."""
        found: Any = self.decryption
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found


def described_sync(stack: str, tenant: str, project: Path) -> DescribedSync:
    """The sync of a tenant, or the platform's own if the tenant's name is empty.

    Raises:
        OperationError: the stack does not exist or has no such sync.
    """
    if tenant:
        sync = described_tenant(stack, tenant, project).value.get("sync")
        names = (f"tenant {tenant}", tenant, f"tenants.{tenant}.sync.decryption")
        default = SyncConfig.model_fields["path"].default
    else:
        sync = described_platform(stack, project)
        names = ("the platform", "--platform", "flux.sync.decryption")
        default = default_path(stack)
    sync = sync if isinstance(sync, Mapping) else {}
    decryption = sync.get("decryption")
    return DescribedSync(
        *names,
        file=stack_file_name(stack),
        folder=str(sync.get("path") or default),
        decryption=decryption if isinstance(decryption, Mapping) else {},
    )
