"""The `freeze` of a stack or a tenant: times in which admission refuses the tenant's changes, by Flux and by hand.

The plan is the same before, during and after a freeze. The policy `freeze` reads the times from an annotation of the
tenant's namespaces, and the current time from the Lease that kustomize-controller renews every few seconds, since CEL
in Kubernetes has no clock. So a freeze begins and ends without an update of the stack.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from flux_tenancy.components.config.errors import NOT_A, MisplacedValueError
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Reason, TenantName
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, FREEZES
from flux_tenancy.components.tenant.grants import ExceptedPolicy

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig

_EXAMPLE = "2026-12-24T18:00:00+01:00"
# YAML turns a time without quotes into another notation, in which a missing zone cannot be told from UTC.
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d(:\d\d)?(?P<zone>Z|[+-]\d\d:\d\d)?")
_NO_TIME = NOT_A(what="a time", example=f'"{_EXAMPLE}", in quotes')


def _moment(value: Any) -> datetime:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(_NO_TIME)
    if found["zone"] is None:
        raise ValueError(NOT_A(what="a time with its zone", example=f"{value}Z for UTC, or {value}+01:00"))
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError:
        raise ValueError(_NO_TIME) from None


Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time", "description": f"a time with its zone, {_EXAMPLE}"}),
]
"""A time, in UTC."""


def in_utc(moment: datetime) -> str:
    """A time as annotations have it; in their order as texts, times are in their own."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Freeze(Section):
    """A time in which a tenant's changes are refused (docs/running.md#freezes)."""

    from_: Moment = Field(alias="from", description="Begin, in quotes.")
    to: Moment = Field(description="End.")
    reason: Reason = Field(description="Reason, which each refusal has.")

    @model_validator(mode="after")
    def _ends_later(self) -> Freeze:
        if self.to <= self.from_:
            raise MisplacedValueError(
                ("to",), Message("FT-TEN-432", "is not after `from`", "set the end of the freeze").of(in_utc(self.to))
            )
        return self


class StackFreeze(Freeze):
    """A time in which the changes of all tenants are refused."""

    except_: tuple[TenantName, ...] = Field((), alias="except", description="Tenants that may still change.")


def freezes_of(name: str, config: TenantConfig, tenancy: TenancyConfig) -> tuple[Freeze, ...]:
    """The freezes of a tenant, its own and those of the stack; the one that ends last comes first.

    A tenant that is leaving has none: a freeze would keep Flux from pruning.
    """
    if config.is_leaving:
        return ()
    of_stack = (each for each in tenancy.freeze if name not in each.except_)
    return tuple(sorted((*config.freeze, *of_stack), key=lambda each: each.to, reverse=True))


def freeze_annotations(name: str, config: TenantConfig, tenancy: TenancyConfig) -> dict[str, str]:
    """The annotation about a tenant's freezes, one a line: begin, end and reason."""
    lines = [
        f"{in_utc(each.from_)} {in_utc(each.to)} {printable(each.reason)}" for each in freezes_of(name, config, tenancy)
    ]
    return {FREEZES: "\n".join(lines)} if lines else {}


@dataclass(frozen=True)
class InForce:
    """A freeze that holds.

    Attributes:
        end: its end, as `in_utc` writes it.
    """

    end: str
    reason: str


def freeze_in_force(annotations: Mapping[str, str], now: datetime) -> InForce | None:
    """The freeze that holds by the annotations of a namespace; the one that ends last, and none with an exception."""
    if ExceptedPolicy.FREEZE in annotations.get(EXCEPTIONS, "").split():
        return None
    time = in_utc(now)
    for line in annotations.get(FREEZES, "").splitlines():
        start, end, reason = (*line.split(" ", 2), "", "")[:3]
        if start <= time < end:
            return InForce(end, printable(reason))
    return None
