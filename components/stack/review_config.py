"""What reviewers have decided about a stack: deletions that they have acknowledged, and rules that they waive."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from components.config.config_wordings import EMPTY
from components.config.section import Section
from components.stack.config_wordings import (
    NOT_A_DATE,
    NOT_WAIVABLE,
    WAIVER_EXPIRED,
    WAIVER_TOO_LONG,
)
from components.stack.review_rules import WAIVABLE, RuleName

LONGEST_WAIVER_DAYS = 366
# A date without quotes is a timestamp to YAML. Pulumi passes it on, and writes it back, in the notation of Go.
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00:00(?:Z|\+00:00| \+0000 UTC)?)?")


def today() -> date:
    """The current date in UTC, so that a waiver expires everywhere at the same time."""
    return datetime.now(UTC).date()


def _date(value: Any) -> Any:
    written = _DATE.fullmatch(str(value))
    try:
        return date.fromisoformat(written[1] if written else "")
    except ValueError:
        raise ValueError(NOT_A_DATE()) from None


def _in_time(value: date) -> date:
    now = today()
    if value < now:
        raise ValueError(WAIVER_EXPIRED(today=now))
    if (value - now).days > LONGEST_WAIVER_DAYS:
        raise ValueError(WAIVER_TOO_LONG(today=now))
    return value


def _waivable(value: RuleName) -> RuleName:
    if value not in WAIVABLE:
        raise ValueError(NOT_WAIVABLE(waivable=", ".join(WAIVABLE)))
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError(EMPTY())
    return value.strip()


class Waiver(Section):
    """A rule that the stack may break until a date."""

    rule: Annotated[
        RuleName,
        AfterValidator(_waivable),
        WithJsonSchema({"type": "string", "enum": list(WAIVABLE), "description": " or ".join(WAIVABLE)}),
    ] = Field(description="Name of the rule.")
    resource: str | None = Field(
        None, description="What may break it, as the finding names it; by default, everything in the stack."
    )
    reason: Annotated[str, AfterValidator(_not_blank)] = Field(
        description="Why, for whoever reads the stack file or the review."
    )
    expires: Annotated[
        date,
        BeforeValidator(_date),
        AfterValidator(_in_time),
        WithJsonSchema({"type": "string", "format": "date", "description": "a date like 2027-01-31"}),
    ] = Field(
        description="The last day, in UTC, on which the waiver holds, e.g. `2027-01-31`; at most a year ahead. "
        "Afterwards, the stack has an error until the waiver is renewed or removed."
    )


class ReviewConfig(Section):
    """Decisions of reviewers. They change nothing in the cluster (docs/review.md)."""

    acknowledge: tuple[str, ...] = Field(
        (),
        description="Deletions that the reviewers accept, each as the diff of a pull request prints it: "
        "`<owner>:<digest>`. An entry fits exactly one set of deletions, so a forgotten one permits nothing else.",
    )
    waivers: tuple[Waiver, ...] = Field(
        (), description="Rules that this stack may break for a time (docs/review.md#rules)."
    )
