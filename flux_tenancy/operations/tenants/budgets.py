"""The budget of late minutes of each tenant. Prometheus knows it; the cluster itself keeps no such history.

Source: https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import requests

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.project.errors import OperationError

BUDGET = "flux_tenancy:budget:ratio"
"""The recorded series, one a tenant (docs/monitoring.md#metrics)."""
_SECONDS = 10
ONE_CLUSTER = Wording(
    "FT-OPS-380", "{of} is about one cluster, and the {shown} about {stacks}", "name its stack with `--stack`"
)


def read_budgets(url: str, stacks: Sequence[str]) -> dict[str, float]:
    """The share of its late minutes that each tenant has left, negative if there were more.

    Args:
        url: of Prometheus. It may contain a password, so no message has it.
        stacks: the stacks whose tenants are shown.

    Raises:
        OperationError: there are several stacks, or Prometheus does not answer, or does not know one cluster's budgets.
    """
    if len(stacks) != 1:
        raise OperationError(ONE_CLUSTER(of="`--prometheus`", shown="list", stacks=" and ".join(stacks) or "none"))
    try:
        response = requests.get(f"{url.rstrip('/')}/api/v1/query", {"query": BUDGET}, timeout=_SECONDS)
    except requests.RequestException as error:
        raise _unknown(f"does not answer ({type(error).__name__})") from None
    if not response.ok:
        raise _unknown(f"answers with status {response.status_code}")
    try:
        series = response.json()["data"]["result"]
        found = {each["metric"]["tenant"]: float(each["value"][1]) for each in series}
    except (LookupError, TypeError, ValueError):
        raise _unknown("does not answer as Prometheus does") from None
    if not found:
        raise _unknown(f"has no series {BUDGET}")
    if len(found) < len(series):
        raise _unknown("has several budgets of one tenant, such as those of several clusters")
    return {tenant: share for tenant, share in found.items() if isfinite(share)}


def _unknown(problem: str) -> OperationError:
    remedy = "give the URL of the Prometheus that evaluates the rules of this stack (docs/monitoring.md#the-objective)"
    return OperationError(Message("FT-OPS-381", f"`--prometheus` {problem}", remedy))
