"""What the files say of a sync and of what decrypts it: all of it but the keys themselves is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.flux.platform_objects import default_path
from components.stack.origins import stack_file_name
from components.tenant.config import SyncConfig
from operations.described_stack import described_platform, described_tenant


@dataclass(frozen=True)
class DescribedSync:
    """A sync as it stands in the files.

    Attributes:
        owner: whose it is, in words: `the tenant dev-team`, or `the platform`.
        option: how the commands call the owner: `TENANT=dev-team`, or `PLATFORM=1`.
        path: where its decryption stands in the stack, e.g. `tenants.dev-team.sync.decryption`.
        file: the stack's file.
        folder: the folder of the repository that it applies.
        decryption: what stands there, secrets encrypted; empty where nothing does.
    """

    owner: str
    option: str
    path: str
    file: str
    folder: str
    decryption: Mapping[str, Any]

    def at(self, key: str) -> Any:
        """What stands at a key below `decryption`, such as `age.recipients`; None where nothing does."""
        found: Any = self.decryption
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found


def described_sync(stack: str, tenant: str, project: Path) -> DescribedSync:
    """The sync of a tenant, or the platform's own where the tenant's name is empty.

    Raises:
        OperationError: there is no such stack, or it does not have such a sync.
    """
    if tenant:
        sync = described_tenant(stack, tenant, project).value.get("sync")
        names = (f"the tenant {tenant}", f"TENANT={tenant}", f"tenants.{tenant}.sync.decryption")
        default = SyncConfig.model_fields["path"].default
    else:
        sync = described_platform(stack, project)
        names = ("the platform", "PLATFORM=1", "flux.sync.decryption")
        default = default_path(stack)
    sync = sync if isinstance(sync, Mapping) else {}
    decryption = sync.get("decryption")
    return DescribedSync(
        *names,
        file=stack_file_name(stack),
        folder=str(sync.get("path") or default),
        decryption=decryption if isinstance(decryption, Mapping) else {},
    )
