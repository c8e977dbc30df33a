"""Types of a tenant's configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.types import DnsLabel, matching
from components.tenant.config_wordings import DEFAULT_ACCOUNT, NOT_A_QUOTA_RESOURCE


def _not_every_pods(account: str) -> str:
    if account == "default":
        raise ValueError(DEFAULT_ACCOUNT())
    return account


ServiceAccountName = Annotated[DnsLabel, AfterValidator(_not_every_pods)]
# Flux's kinds have a key of their own.
QuotaResource = Annotated[
    str,
    *matching(
        r"^(?!count/.*\.fluxcd\.io$)[a-z0-9]([a-zA-Z0-9./-]*[a-zA-Z0-9])?$",
        NOT_A_QUOTA_RESOURCE,
    ),
]
