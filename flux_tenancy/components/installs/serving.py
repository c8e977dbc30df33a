"""Whether the webhooks of a product really serve: their certificate is valid, and the API server calls and obeys them.

Its pods become ready before its webhooks are registered, and before the API server knows these.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.hooks import NotReady, wait_for

if TYPE_CHECKING:
    from flux_tenancy.components.config.messages import Wording
    from flux_tenancy.components.vocabulary.manifests import Manifest

SERVING_SECONDS = 120.0


class NotServing(NotReady):
    """The product is installed but does not serve."""


@dataclass(frozen=True)
class DryRun:
    """An object that is never created.

    Attributes:
        what: what it is, for messages, e.g. `a broken policy`.
    """

    manifest: Manifest
    what: str


@dataclass(frozen=True)
class DryRuns:
    """Two dry runs that show whether a product serves.

    Attributes:
        refused: what only the product refuses.
        denials: how the API server begins the message when one of the product's webhooks has refused it.
    """

    refused: DryRun
    denials: tuple[str, ...]
    admitted: DryRun


def until_serving(
    dry_runs: DryRuns,
    says: Wording,
    refusal: Callable[[Manifest], str | None],
    timeout_seconds: float = SERVING_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the product refuses the one object and admits the other.

    Args:
        says: what is said if it does not serve, with `seconds` and `reason`.
        refusal: returns why the cluster would refuse to create an object, or None.

    Raises:
        NotServing: it does not serve within that time.
    """
    if reason := wait_for(partial(_not_serving, dry_runs, refusal), timeout_seconds, clock, sleep):
        raise NotServing(says(seconds=timeout_seconds, reason=reason))


def _not_serving(dry_runs: DryRuns, refusal: Callable[[Manifest], str | None]) -> str | None:
    refused, admitted = dry_runs.refused, dry_runs.admitted
    denied = refusal(refused.manifest)
    if denied is None:
        return f"{refused.what} is not refused"
    if not any(denial in denied for denial in dry_runs.denials):
        return f"{refused.what} is refused for another reason: {denied}"
    reason = refusal(admitted.manifest)
    return f"{admitted.what} is refused: {reason}" if reason is not None else None
