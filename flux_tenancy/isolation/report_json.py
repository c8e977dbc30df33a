"""The report for programs; docs/security.md documents its keys, which are stable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flux_tenancy.isolation.attempts import NOT_ASKED
from flux_tenancy.isolation.model import AttemptResult, ControlResult, Discrepancy, Report

FORMAT = "flux-tenancy/isolation/v1"


def as_json(reports: Sequence[Report]) -> str:
    """All reports of a run."""
    content = {
        "format": FORMAT,
        "safe": all(report.safe for report in reports),
        "reports": [_report(report) for report in reports],
        "notAsked": [{"threat": threat, "reason": reason} for threat, reason in NOT_ASKED.items()],
    }
    return json.dumps(content, indent=2)


def _report(report: Report) -> dict[str, Any]:
    return {
        "context": report.context,
        "server": report.server,
        "version": report.version,
        "tenant": report.tenant,
        "namespaces": list(report.namespaces),
        "account": report.account,
        "live": report.live,
        "without": list(report.without),
        "madeAt": report.made_at,
        "safe": report.safe,
        "attempts": [_attempt(result) for result in report.attempts],
        "controls": [_control(result) for result in report.controls],
        "inventory": None if report.inventory is None else [_discrepancy(each) for each in report.inventory],
    }


def _attempt(result: AttemptResult) -> dict[str, Any]:
    return {
        "id": result.attempt.id,
        "threat": result.attempt.threat,
        "name": result.attempt.name,
        "verdict": result.verdict,
        "layer": result.layer,
        "by": result.by,
        "message": result.message,
        "layers": {
            layer: {"state": each.state, "by": each.by, "message": each.message} for layer, each in result.alone.items()
        },
    }


def _control(result: ControlResult) -> dict[str, Any]:
    return {
        "id": result.control.id,
        "name": result.control.name,
        "verdict": result.verdict,
        "message": result.message,
    }


def _discrepancy(each: Discrepancy) -> dict[str, Any]:
    return {
        "code": each.code,
        "what": each.what,
        "namespace": each.namespace,
        "object": each.target,
        "found": each.found,
        "intended": each.intended,
        "remedy": each.remedy,
    }
