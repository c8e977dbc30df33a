"""Types of a tenant's configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from components.config.messages import Message
from components.config.types import DnsLabel, matching


def _not_every_pods(account: str) -> str:
    if account == "default":
        raise ValueError(
            Message(
                "FT-CFG-400",
                "is the service account of every pod that names none, which would get the tenant's rights",
                "choose another name",
            )
        )
    return account


ServiceAccountName = Annotated[DnsLabel, AfterValidator(_not_every_pods)]
# Flux's kinds have a key of their own.
QuotaResource = Annotated[
    str,
    *matching(
        r"^(?!count/.*\.fluxcd\.io$)[a-z0-9]([a-zA-Z0-9./-]*[a-zA-Z0-9])?$",
        Message(
            "FT-CFG-401",
            "is not a resource that a quota can limit here",
            "write it like pods; Flux's own kinds are limited by fluxObjects",
        ),
    ),
]
