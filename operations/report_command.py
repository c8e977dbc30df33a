"""What commands that report findings have in common: their formats and their exit statuses."""

from __future__ import annotations

from enum import StrEnum

from flux_tenancy.operations.errors import Operation


class Output(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"


class ReportCommand(Operation):
    """Like `git diff --exit-code`: 1 means findings, so a command that fails has another exit status."""

    failure = 2
