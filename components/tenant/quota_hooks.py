"""Hooks by which a tenant's objects wait until the cluster counts what their quotas limit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pulumi

from components.cluster.hooks import Once, ready_hook
from components.tenant.config import TenantConfig
from components.tenant.limits import limiting_objects
from components.tenant.notifications import notifications_of
from components.tenant.objects import tenant_meta
from components.tenant.quota_status import QuotaStatus
from components.tenant.room import room_for
from components.tenant.tenancy_config import TenancyConfig
from components.vocabulary.manifests import Manifest

_QUOTA = "ResourceQuota"
# The limits themselves are created before anything in the namespace is counted.
_LIMITS = frozenset({_QUOTA, "LimitRange", "NetworkPolicy"})


class QuotaHooks:
    """A quota waits until the cluster knows the kinds that it counts, and an object until its quota counts.

    Args:
        status: the status of the cluster's quotas.
        tenants: the tenants of the stack.
        tenancy: settings for all tenants.
    """

    def __init__(self, status: QuotaStatus, tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig) -> None:
        self._waits = {
            namespace: [
                Once(partial(status.wait_until_counting, namespace, quota, keys))
                for quota, keys in counted(name, namespace, tenant, tenancy).items()
            ]
            for name, tenant in tenants.items()
            for namespace in tenant.namespace_names
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


def counted(name: str, namespace: str, config: TenantConfig, tenancy: TenancyConfig) -> Mapping[str, list[str]]:
    """By quota of a tenant's namespace, the keys under which it counts the platform's own objects."""
    room = room_for(config, namespace, len(notifications_of(config, tenancy)))
    limits = limiting_objects(tenant_meta(name, namespace), tenancy.limits, tenancy.network_policy, room)
    quotas = {limit["metadata"]["name"]: limit["spec"]["hard"] for limit in limits if limit["kind"] == _QUOTA}
    found = {quota: [key for key in room if key in hard] for quota, hard in quotas.items()}
    return {quota: keys for quota, keys in found.items() if keys}
