"""Waiting until the cluster counts what a tenant's quotas limit: until it does, it refuses every object of such a kind.

The quota controller discovers new kinds every 30 seconds. A quota that was created before it knew a kind is not synced
again for five minutes; until then the API server answers `status unknown for quota`. So a quota of Flux's kinds has to
wait until their definitions are old enough, and an object of such a kind until its quota counts.

Source: `--resource-quota-sync-period` of kube-controller-manager, and startResourceQuotaController in
cmd/kube-controller-manager/app/core.go of Kubernetes 1.36"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import read_definition_age, read_quota
from flux_tenancy.components.cluster.hooks import NotReady, Once, ready_hook, wait_for
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.tenant.limits import room_of

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.plan import Planned
    from flux_tenancy.components.vocabulary.manifests import Manifest


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


def wait_until_countable(api: client.ApiClient) -> None:
    """Wait until Flux's definitions are old enough to be known to the quota controller.

    Raises:
        ClusterUnavailable: the cluster does not answer, or has no such kinds.
    """
    young = KNOWN_AFTER_SECONDS - read_definition_age(api, DEFINITION)
    if young > 0:
        time.sleep(young)


def wait_until_counting(api: client.ApiClient, namespace: str, name: str, counted: Collection[str]) -> None:
    """Wait until the status of a ResourceQuota counts some of what it limits.

    Args:
        name: name of the quota; one that does not exist refuses nothing.
        counted: the keys to be counted, e.g. `count/kustomizations.kustomize.toolkit.fluxcd.io`.

    Raises:
        ClusterUnavailable: the cluster does not answer.
        NotCounting: they are not counted in time.
    """

    def missing() -> str | None:
        quota = read_quota(api, namespace, name)
        if quota is None:
            return None
        hard, status = quota.get("spec", {}).get("hard", {}), quota.get("status", {})
        # A raised limit is in effect once the status has it.
        counting = {key for key in status.get("used", {}) if status.get("hard", {}).get(key) == hard.get(key)}
        return ", ".join(sorted(set(counted) - counting)) or None

    if uncounted := wait_for(missing, TIMEOUT_SECONDS, poll_seconds=POLL_SECONDS):
        raise NotCounting(
            Message(
                "FT-TEN-001",
                f"after {TIMEOUT_SECONDS:.0f} s, the quota controller does not count {uncounted} in namespace "
                f"{namespace} yet, and the API server refuses such objects until it does",
                "check that kube-controller-manager is healthy, and run the update again",
            )
        )


_QUOTA = "ResourceQuota"
# The limits themselves are created before anything in the namespace is counted.
_LIMITS = frozenset({_QUOTA, "LimitRange", "NetworkPolicy"})


class QuotaHooks:
    """A quota waits until the cluster knows the kinds that it counts, and an object until its quota counts."""

    def __init__(self, api: client.ApiClient, plans: Iterable[Sequence[Planned]]) -> None:
        self._waits = {
            namespace: [
                Once(partial(wait_until_counting, api, namespace, quota, keys)) for quota, keys in quotas.items()
            ]
            for planned in plans
            for namespace, quotas in counted(planned).items()
        }
        self._countable = ready_hook("quotas-countable", partial(wait_until_countable, api))
        self._counting = pulumi.ResourceHook("quotas-counting", self._count)

    def of(self, manifest: Manifest) -> pulumi.ResourceHookBinding:
        """The hooks of an object; none outside tenants' namespaces."""
        kind, namespace = manifest["kind"], manifest["metadata"].get("namespace")
        if namespace not in self._waits:
            return pulumi.ResourceHookBinding()
        if kind in _LIMITS:
            return pulumi.ResourceHookBinding(before_create=[self._countable] if kind == _QUOTA else [])
        return pulumi.ResourceHookBinding(before_create=[self._counting])

    async def _count(self, args: pulumi.ResourceHookArgs) -> None:
        inputs = present(args.new_inputs, "something is created")
        for wait in self._waits[inputs["metadata"]["namespace"]]:
            await wait()


def counted(planned: Sequence[Planned]) -> dict[str, dict[str, list[str]]]:
    """By namespace and quota of a tenant, the keys under which the quota counts the platform's own objects."""
    rooms = room_of(planned)
    found: dict[str, dict[str, list[str]]] = {}
    for each in planned:
        if each.kind == _QUOTA:
            keys = [key for key in rooms[each.namespace] if key in each.manifest["spec"]["hard"]]
            quotas = found.setdefault(each.namespace, {})
            if keys:
                quotas[each.manifest["metadata"]["name"]] = keys
    return found
