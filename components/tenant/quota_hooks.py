"""Hooks by which a tenant's objects wait until the cluster counts what their quotas limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import pulumi

from components.cluster.hooks import Once, ready_hook
from components.plan.planned import Planned
from components.tenant.limits import room_of
from components.tenant.quota_status import QuotaStatus
from components.vocabulary.manifests import Manifest

_QUOTA = "ResourceQuota"
# The limits themselves are created before anything in the namespace is counted.
_LIMITS = frozenset({_QUOTA, "LimitRange", "NetworkPolicy"})


class QuotaHooks:
    """A quota waits until the cluster knows the kinds that it counts, and an object until its quota counts.

    Args:
        status: the status of the cluster's quotas.
        plans: what is planned for each tenant of the stack.
    """

    def __init__(self, status: QuotaStatus, plans: Iterable[Sequence[Planned]]) -> None:
        self._waits = {
            namespace: [
                Once(partial(status.wait_until_counting, namespace, quota, keys)) for quota, keys in quotas.items()
            ]
            for planned in plans
            for namespace, quotas in counted(planned).items()
        }
        self._countable = ready_hook("quotas-countable", status.wait_until_countable)
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
        assert args.new_inputs is not None  # There are always some before something is created.
        for wait in self._waits[args.new_inputs["metadata"]["namespace"]]:
            await wait()


def counted(planned: Sequence[Planned]) -> dict[str, dict[str, list[str]]]:
    """By namespace and quota of a tenant, the keys under which the quota counts the platform's own objects.

    Args:
        planned: everything that is planned for the tenant.
    """
    rooms = room_of(planned)
    found: dict[str, dict[str, list[str]]] = {}
    for each in planned:
        if each.kind == _QUOTA:
            keys = [key for key in rooms[each.namespace] if key in each.manifest["spec"]["hard"]]
            quotas = found.setdefault(each.namespace, {})
            if keys:
                quotas[each.manifest["metadata"]["name"]] = keys
    return found
