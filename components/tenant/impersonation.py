"""The Roles that let Flux's controllers impersonate the service accounts of tenants and of the platform."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pulumi

from components.cluster.manifests import Manifest, register
from components.cluster.object_meta import ObjectMeta
from components.flux.config import FluxConfig
from components.flux.controller_rights import impersonation_objects, platform_meta
from components.sync.names import FLUX_NAMESPACE
from components.tenant.config import TenancyConfig, TenantConfig
from components.tenant.objects import service_account_name, tenant_meta


def impersonations(
    flux: FluxConfig, tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig
) -> dict[str, list[Manifest]]:
    """The objects of each namespace where the controllers impersonate an account; none if they are cluster-admin.

    Flux's own namespace is not included: FluxInstall creates it with everything that its controllers need.
    """
    if not flux.impersonates:
        return {}
    places: dict[str, ObjectMeta] = {}
    accounts: dict[str, list[str]] = {}
    for name, tenant in tenants.items():
        for namespace in tenant.namespace_names:
            places[namespace] = tenant_meta(name, namespace)
            accounts[namespace] = [service_account_name(name, tenancy, tenant)]
    for entry in flux.impersonate:
        if entry.namespace == FLUX_NAMESPACE:
            continue
        places.setdefault(entry.namespace, platform_meta(entry.namespace))
        accounts.setdefault(entry.namespace, []).extend(entry.service_accounts)
    return {namespace: impersonation_objects(meta, accounts[namespace], flux) for namespace, meta in places.items()}


class Impersonation:
    """The Roles by which the controllers impersonate accounts of a namespace, and their bindings.

    In namespaces that exist already they are created first: when the controllers of an older installation are replaced
    by those that need these Roles, no sync is without them.

    Attributes:
        standing: those of namespaces that exist already.
    """

    standing: list[pulumi.Resource]

    def __init__(
        self, objects: Mapping[str, Sequence[Manifest]], existing: Collection[str], opts: pulumi.ResourceOptions
    ) -> None:
        """Register those of existing namespaces.

        Args:
            objects: the objects of each namespace (`impersonations`).
            existing: the namespaces that the cluster has.
            opts: options of all of them.
        """
        self._objects = objects
        self._opts = opts
        self._registered: dict[str, list[pulumi.Resource]] = {}
        self.standing = [
            each for namespace in objects if namespace in existing for each in self.within(namespace, after=[])
        ]

    def within(self, namespace: str, after: Sequence[pulumi.Input[pulumi.Resource]]) -> list[pulumi.Resource]:
        """Those of a namespace; if they are not registered yet, they depend on `after`."""
        if namespace not in self._registered:
            opts = pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=list(after)))
            self._registered[namespace] = [register(each, opts) for each in self._objects.get(namespace, ())]
        return self._registered[namespace]
