"""What reviewers have decided about a stack: deletions that they have acknowledged, and rules that they waive."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from flux_tenancy.components.config.decisions import EXPIRED, LastDay, Reason, today
from flux_tenancy.components.config.errors import UNKNOWN
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section


class RuleName(StrEnum):
    """A review rule; some of them can be waived (docs/review.md#rules)."""

    ADMIN_BINDING = "admin-binding"
    WRITABLE_DEPLOY_KEY = "writable-deploy-key"
    PLAIN_SECRET = "plain-secret"
    RESERVED_NAMESPACE = "reserved-namespace"
    LOCKDOWN_FLAGS = "lockdown-flags"
    NO_POLICY_ENGINE = "no-policy-engine"
    POLICY_NOT_ENFORCED = "policy-not-enforced"
    PROTECTED_DELETION = "protected-deletion"


WAIVABLE = (
    RuleName.ADMIN_BINDING,
    RuleName.NO_POLICY_ENGINE,
    RuleName.POLICY_NOT_ENFORCED,
    RuleName.PROTECTED_DELETION,
)
"""The rules that a stack may break for a time and for a reason; the others have no good reason to be broken."""


LONGEST_WAIVER_DAYS = 366


def _in_time(value: date) -> date:
    now = today()
    if value < now:
        raise ValueError(EXPIRED(today=now, decision="waiver"))
    if (value - now).days > LONGEST_WAIVER_DAYS:
        raise ValueError(
            Message(
                "FT-CFG-692",
                f"is more than a year ahead (today is {now})",
                "set a date within a year; the waiver can be renewed then",
            )
        )
    return value


def _waivable(value: RuleName) -> RuleName:
    if value not in WAIVABLE:
        raise ValueError(UNKNOWN(what="a review rule that can be waived", choices=", ".join(WAIVABLE)))
    return value


class Waiver(Section):
    """A review rule that the stack may violate until a date."""

    rule: Annotated[
        RuleName,
        AfterValidator(_waivable),
        WithJsonSchema({"type": "string", "enum": list(WAIVABLE), "description": " or ".join(WAIVABLE)}),
    ] = Field(description="Name of the rule.")
    resource: str | None = Field(
        None, description="Resource that may violate the rule, as the finding names it; all by default."
    )
    reason: Reason = Field(description="Reason.")
    expires: Annotated[LastDay, AfterValidator(_in_time)] = Field(
        description="Last day, in UTC, at most a year ahead; afterwards, the stack has an error."
    )


class ReviewConfig(Section):
    """Decisions of reviewers. They change nothing in the cluster (docs/review.md)."""

    acknowledge: tuple[str, ...] = Field(
        (), description="Accepted deletions, each as `review diff` prints it: `<owner>:<digest>`."
    )
    waivers: tuple[Waiver, ...] = Field(
        (), description="Review rules that this stack may violate (docs/review.md#rules)."
    )
