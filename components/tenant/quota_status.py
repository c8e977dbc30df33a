"""Whether the cluster counts what a tenant's quota limits; until it does, it refuses every object of such a kind.

The quota controller discovers new kinds every 30 seconds. A quota that was created before it knew a kind is not synced
again for five minutes; until then the API server answers `status unknown for quota`. So a quota of Flux's kinds has to
wait until their definitions are old enough, and an object of such a kind until its quota counts.

Source: `--resource-quota-sync-period` of kube-controller-manager, and startResourceQuotaController in
cmd/kube-controller-manager/app/core.go of Kubernetes 1.36
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.cluster.client import read_definition_age, read_quota
from components.cluster.waiting import NotReady, wait_for
from components.config.messages import Message

if TYPE_CHECKING:
    from kubernetes import client

# The last of the counted kinds that is needed: every tenant has a Kustomization.
DEFINITION = "kustomizations.kustomize.toolkit.fluxcd.io"
# Thirty seconds until the kind is discovered, and some to start watching it.
KNOWN_AFTER_SECONDS = 45.0
# The controller's full resync period of five minutes, and a margin.
TIMEOUT_SECONDS = 330.0
# A waiting step occupies one of the engine's few workers, and a new quota usually counts within this.
POLL_SECONDS = 0.2


class NotCounting(NotReady):
    """The cluster does not yet count what a quota limits."""


@dataclass(frozen=True)
class QuotaStatus:
    """The status of a cluster's quotas.

    Attributes:
        api: a client for the cluster.
        clock: monotonic time in seconds.
        sleep: waits for a number of seconds.
    """

    api: client.ApiClient
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def wait_until_countable(self) -> None:
        """Wait until Flux's definitions are old enough to be known to the quota controller.

        Raises:
            ClusterUnavailable: the cluster does not answer, or has no such kinds.
        """
        young = KNOWN_AFTER_SECONDS - read_definition_age(self.api, DEFINITION)
        if young > 0:
            self.sleep(young)

    def wait_until_counting(self, namespace: str, name: str, counted: Collection[str]) -> None:
        """Wait until the status of a ResourceQuota counts some of what it limits.

        Args:
            namespace: namespace of the quota.
            name: name of the quota; one that does not exist refuses nothing.
            counted: the keys to be counted, e.g. `count/kustomizations.kustomize.toolkit.fluxcd.io`.

        Raises:
            ClusterUnavailable: the cluster does not answer.
            NotCounting: they are not counted in time.
        """

        def missing() -> str | None:
            quota = read_quota(self.api, namespace, name)
            if quota is None:
                return None
            hard, status = quota.get("spec", {}).get("hard", {}), quota.get("status", {})
            # A raised limit is in effect once the status has it.
            counting = {key for key in status.get("used", {}) if status.get("hard", {}).get(key) == hard.get(key)}
            return ", ".join(sorted(set(counted) - counting)) or None

        if uncounted := wait_for(missing, TIMEOUT_SECONDS, self.clock, self.sleep, POLL_SECONDS):
            raise NotCounting(
                Message(
                    "FT-TEN-001",
                    f"the cluster has not started to count {uncounted} in namespace {namespace} within "
                    f"{TIMEOUT_SECONDS:.0f} s and refuses such objects until it does",
                    "check that kube-controller-manager is healthy, and run the update again",
                )
            )
