"""Types of a tenant's configuration. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.types import DnsLabel, matching


def _not_every_pods(account: str) -> str:
    if account == "default":
        raise ValueError(
            "is the account of every pod that names none, which would hold the tenant's rights; choose another"
        )
    return account


ServiceAccountName = Annotated[DnsLabel, AfterValidator(_not_every_pods)]
# Those of Flux's kinds have a key of their own.
QuotaResource = Annotated[
    str,
    *matching(
        r"^(?!count/.*\.fluxcd\.io$)[a-z0-9]([a-zA-Z0-9./-]*[a-zA-Z0-9])?$",
        "a resource of a ResourceQuota, other than Flux's kinds, which fluxObjects limits; write it like pods",
    ),
]
