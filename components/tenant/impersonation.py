"""What lets Flux's controllers impersonate the service accounts of tenants and of the platform, and read Secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pulumi

from components.cluster.manifests import register
from components.engine.state import State
from components.flux.config import FluxConfig
from components.flux.controller_rights import IMPERSONATION, impersonation_objects, platform_meta
from components.git.config import GitSource
from components.tenant.config import TenantConfig
from components.tenant.kinds import RECEIVER
from components.tenant.objects import all_sources, service_account_name, tenant_meta
from components.tenant.tenancy_config import TenancyConfig
from components.vocabulary.manifests import Manifest, name_of, resource_type
from components.vocabulary.names import FLUX_NAMESPACE
from components.vocabulary.object_meta import ObjectMeta

_RIGHTS = ("rules", "roleRef", "subjects")


def impersonations(
    flux: FluxConfig, tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig
) -> dict[str, list[Manifest]]:
    """The objects by namespace that let the controllers do so; empty if they have the rights of the release.

    Flux's own namespace is not included: FluxInstall creates it with everything that its controllers need.
    """
    if not flux.impersonates:
        return {}
    places: dict[str, ObjectMeta] = {}
    accounts: dict[str, list[str]] = {}
    open_to_receivers: set[str] = set()
    webhooks: dict[str, list[str]] = {}
    for name, tenant in tenants.items():
        for namespace in tenant.namespaces:
            places[namespace.name] = tenant_meta(name, namespace.name)
            accounts[namespace.name] = [namespace.delegated_to or service_account_name(name, tenancy, tenant)]
        if RECEIVER in (*tenancy.kinds, *tenant.policies.kinds):
            open_to_receivers.update(tenant.namespace_names)
        webhooks[tenant.home] = [
            meta.name
            for meta, source in all_sources(name, tenant)
            if isinstance(source, GitSource) and source.webhook is not None
        ]
    for entry in flux.impersonate:
        if entry.namespace == FLUX_NAMESPACE:
            continue
        places.setdefault(entry.namespace, platform_meta(entry.namespace))
        accounts.setdefault(entry.namespace, []).extend(entry.service_accounts)
    return {
        namespace: impersonation_objects(
            meta,
            accounts[namespace],
            flux,
            receivers=namespace in open_to_receivers,
            webhooks=webhooks.get(namespace, ()),
        )
        for namespace, meta in places.items()
    }


def granted(objects: Mapping[str, Sequence[Manifest]], state: State) -> set[str]:
    """The namespaces whose objects (`impersonations`) are in the state with the same rights."""
    return {namespace for namespace, each in objects.items() if all(_is_granted(manifest, state) for manifest in each)}


def _is_granted(manifest: Manifest, state: State) -> bool:
    outputs = state.resources.get((resource_type(manifest), name_of(manifest)), {})
    return all(outputs.get(key) == manifest[key] for key in _RIGHTS if key in manifest)


class Impersonation:
    """The Roles and RoleBindings that let the controllers impersonate accounts of a namespace and read its Secrets.

    In namespaces that already exist, they are created and changed before the controllers. So when an older installation
    is updated to controllers that need these Roles, every sync keeps working. Such objects cannot depend on their
    namespace, which comes after the controllers; from the next update on they do, and are deleted before it.

    Attributes:
        in_existing: the objects in namespaces that already exist, and in which they are not yet as they are to be.
    """

    in_existing: list[pulumi.Resource]

    def __init__(
        self,
        objects: Mapping[str, Sequence[Manifest]],
        existing: Collection[str],
        opts: pulumi.ResourceOptions,
        settled: Collection[str] = (),
    ) -> None:
        """Register the objects in existing namespaces.

        Args:
            objects: the objects by namespace (`impersonations`).
            existing: the namespaces in the cluster.
            opts: resource options for all objects.
            settled: tenants' namespaces in which nothing is to be granted (`granted`); their tenants register the
                objects (`within`).
        """
        self._objects = objects
        self._opts = opts
        self._registered: dict[tuple[str, bool], list[pulumi.Resource]] = {}
        early = [namespace for namespace in objects if namespace in existing and namespace not in settled]
        self.in_existing = [
            each
            for namespace in early
            for each in (*self.before_sources(namespace, after=[]), *self.within(namespace, after=[]))
        ]

    def before_sources(self, namespace: str, after: Sequence[pulumi.Input[pulumi.Resource]]) -> list[pulumi.Resource]:
        """The objects without which no source can be fetched that needs a Secret, and no message be sent."""
        return self._register(namespace, after, impersonating=False)

    def within(self, namespace: str, after: Sequence[pulumi.Input[pulumi.Resource]]) -> list[pulumi.Resource]:
        """The other objects in a namespace."""
        return self._register(namespace, after, impersonating=True)

    def _register(
        self, namespace: str, after: Sequence[pulumi.Input[pulumi.Resource]], *, impersonating: bool
    ) -> list[pulumi.Resource]:
        """Register the objects with a dependency on `after`, unless they already are."""
        if (namespace, impersonating) not in self._registered:
            opts = pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=list(after)))
            self._registered[namespace, impersonating] = [
                register(each, opts)
                for each in self._objects.get(namespace, ())
                if (each["metadata"]["name"] == IMPERSONATION) is impersonating
            ]
        return self._registered[namespace, impersonating]
