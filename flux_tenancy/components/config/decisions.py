"""What decisions that hold for a time have in common: why they were made, and the last day on which they hold."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from flux_tenancy.components.config.errors import NOT_A
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.types import EMPTY

# A date without quotes is a timestamp to YAML. Pulumi passes it on, and writes it back, in the notation of Go.
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00:00(?:Z|\+00:00| \+0000 UTC)?)?")


def today() -> date:
    """The current date in UTC, so that a decision expires everywhere at the same time."""
    return now().date()


def now() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def as_written(value: Any) -> Any:
    """A value as its file has it: a date without the time that Pulumi adds to one without quotes."""
    found = _DATE.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else value


def _date(value: Any) -> Any:
    written = _DATE.fullmatch(str(value))
    try:
        return date.fromisoformat(written[1] if written else "")
    except ValueError:
        raise ValueError(NOT_A(what="a date", example="2027-01-31")) from None


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError(EMPTY())
    return value.strip()


EXPIRED = Wording(
    "FT-TEN-400",
    "has passed (today is {today}): the {decision} has expired",
    "remove it, or have those who decided agree to a later date",
)

Reason = Annotated[str, AfterValidator(_not_blank)]
LastDay = Annotated[
    date,
    BeforeValidator(_date),
    WithJsonSchema({"type": "string", "format": "date", "description": "a date like 2027-01-31"}),
]
"""The last day, in UTC, on which a decision holds."""
