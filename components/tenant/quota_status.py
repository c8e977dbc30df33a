"""Whether the cluster counts what a tenant's quota limits; until it does, it refuses every object of such a kind.

The quota controller looks for new kinds every 30 seconds. A quota that is older than its knowledge of a kind is not
looked at again for five minutes, in which the answer is `status unknown for quota`. So a quota of Flux's kinds has to
wait until these have been there for a while, and what it counts until it is counted.

Source: `--resource-quota-sync-period` of kube-controller-manager, and startResourceQuotaController in
cmd/kube-controller-manager/app/core.go of Kubernetes 1.36
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from kubernetes import client

from components.cluster.client import read_definition_age, read_quota
from components.cluster.waiting import NotReady, wait_for

# The kind whose definition is the last of those that are counted to matter: every tenant has one.
DEFINITION = "kustomizations.kustomize.toolkit.fluxcd.io"
# Thirty seconds until it is noticed, and some to begin to watch it.
KNOWN_AFTER_SECONDS = 45.0
# As long as the controller takes to look at a quota again, and a little more.
TIMEOUT_SECONDS = 330.0
# A step that waits holds one of the engine's few workers, and a new quota is mostly counted within this.
POLL_SECONDS = 0.2


class NotCounting(NotReady):
    """The cluster does not count yet what a quota limits."""


@dataclass(frozen=True)
class QuotaStatus:
    """What a cluster knows of its quotas.

    Attributes:
        api: a client for the cluster.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
    """

    api: client.ApiClient
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def wait_until_countable(self) -> None:
        """Wait until Flux's kinds have been there for long enough to be counted.

        Raises:
            ClusterUnavailable: the cluster does not answer, or has no such kinds.
        """
        young = KNOWN_AFTER_SECONDS - read_definition_age(self.api, DEFINITION)
        if young > 0:
            self.sleep(young)

    def wait_until_counting(self, namespace: str, name: str, counted: Collection[str]) -> None:
        """Wait until a ResourceQuota says how many there are of some of the things that it limits.

        Args:
            namespace: of the quota.
            name: of the quota; one that does not exist refuses nothing.
            counted: what has to be counted, e.g. `count/kustomizations.kustomize.toolkit.fluxcd.io`.

        Raises:
            ClusterUnavailable: the cluster does not answer.
            NotCounting: it has not come to that in time.
        """

        def missing() -> str | None:
            quota = read_quota(self.api, namespace, name)
            if quota is None:
                return None
            hard, status = quota.get("spec", {}).get("hard", {}), quota.get("status", {})
            # A limit that has just been raised holds once the status says so.
            counting = {key for key in status.get("used", {}) if status.get("hard", {}).get(key) == hard.get(key)}
            return ", ".join(sorted(set(counted) - counting)) or None

        if uncounted := wait_for(missing, TIMEOUT_SECONDS, self.clock, self.sleep, POLL_SECONDS):
            raise NotCounting(
                f"the cluster has not begun to count {uncounted} in the namespace {namespace} within "
                f"{TIMEOUT_SECONDS:.0f} s, and refuses such objects until it does; look whether its "
                "kube-controller-manager is well, and run the update again"
            )
