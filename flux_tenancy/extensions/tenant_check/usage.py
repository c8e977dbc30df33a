"""What is used of a tenant's quotas in the cluster."""

from __future__ import annotations

from pathlib import Path

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.operations.stack.connected import connect_to_read, reaching


def read_used(project: Path, stack: str, tenant: str) -> dict[str, dict[str, str]]:
    """What is used of each quota, by `namespace/name`.

    Raises:
        OperationError: the cluster cannot be read.
    """
    with reaching(stack):
        api = connect_to_read(stack, project)
        with explaining(api):
            quotas = list(items(api, "/api/v1/resourcequotas", labelSelector=f"{TENANT_LABEL}={tenant}"))
    return {name_of(each): (each.get("status") or {}).get("used") or {} for each in quotas}
