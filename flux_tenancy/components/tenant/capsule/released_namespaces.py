"""Taking namespaces out of a Tenant of Capsule, so that they and all that is in them outlive it.

Capsule deletes a Tenant's namespaces with the Tenant, by the list in its status, and puts a namespace's label back as
long as the namespace has an owner reference. So the label and the reference go in one request before Pulumi applies
the namespace without the label, and Pulumi goes on only when the status has caught up.

A namespace that a tenant has made and that the stack lists now leaves its Tenant for a moment, too: what Capsule has
set there it would otherwise remove as soon as the namespace is the stack's, with the labels that Pulumi sets as well.

Source: internal/webhook/namespace/mutation/assignment.go, internal/controllers/tenant/namespaces.go and
internal/controllers/rulestatus/managed_metadata.go of Capsule 0.14
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import explaining, get, patch_current
from flux_tenancy.components.cluster.hooks import before_changes
from flux_tenancy.components.cluster.waiting import NotReady, in_thread, wait_for
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.capsule.objects import CAPSULE_GROUP
from flux_tenancy.components.tenant.capsule.names import (
    CAPSULE_API,
    CAPSULE_TENANT_LABEL,
    KEYS_OF_CAPSULE,
    OWNER,
    SETTINGS,
    TENANT,
)

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.vocabulary.manifests import Manifest

_TIMEOUT_SECONDS = 60
_RULES = "capsule-managed-rules"


class Releases:
    """The hook that takes a namespace out of its Tenant before it is applied without Capsule's label, or first of all.

    Args:
        api: a client for the cluster.
        owned: the namespaces that a Tenant of this stack owns in the cluster, each with the Tenant's name.
        made: those of them that the tenant has made.
    """

    def __init__(self, api: client.ApiClient, owned: Mapping[str, str], made: Collection[str] = ()) -> None:
        self._api, self._owned, self._made = api, owned, made
        self._hook = pulumi.ResourceHook("capsule-namespace-released", self._release)

    def of(self, manifest: Manifest) -> pulumi.ResourceHookBinding:
        """The hook of a namespace that is to leave its Tenant; none for any other object."""
        name, labels = manifest["metadata"].get("name"), manifest["metadata"].get("labels", {})
        leaves = name in self._owned and (name in self._made or CAPSULE_TENANT_LABEL not in labels)
        if manifest["kind"] != "Namespace" or not leaves:
            return pulumi.ResourceHookBinding()
        return before_changes([self._hook])

    async def _release(self, args: pulumi.ResourceHookArgs) -> None:
        await in_thread(release, self._api, args.name, self._owned[args.name])


def release(api: client.ApiClient, namespace: str, tenant: str) -> None:
    """Take a namespace out of a Tenant, and wait until the Tenant knows.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
        NotReady: the Tenant still lists the namespace.
    """
    path = f"/api/v1/namespaces/{namespace}"
    with explaining(api):
        patch_current(api, path, without_tenant)
        missing = wait_for(lambda: tenant if _is_of(api, namespace, tenant) else None, _TIMEOUT_SECONDS)
    if missing is not None:
        raise NotReady(
            Message(
                "FT-CAP-050",
                f"after {_TIMEOUT_SECONDS} s, namespace {namespace} still belongs to Capsule's Tenant {tenant}, "
                "which would delete it",
                "check that Capsule's controller is healthy (`kubectl describe tenant.capsule.clastix.io "
                f"{tenant}`), and run `pulumi up` again",
            )
        )


def without_tenant(namespace: Mapping[str, Any]) -> Manifest:
    """The merge patch that removes from a namespace what Capsule has put on it, and nothing else."""
    metadata = namespace["metadata"]
    patch: Manifest = {
        "resourceVersion": metadata["resourceVersion"],
        "ownerReferences": [
            each
            for each in metadata.get("ownerReferences", ())
            if (each["apiVersion"].partition("/")[0], each["kind"]) != (CAPSULE_GROUP, TENANT)
        ],
    }
    for part in ("labels", "annotations"):
        keys = [key for key in metadata.get(part, {}) if key.startswith((*KEYS_OF_CAPSULE, OWNER, SETTINGS))]
        patch[part] = dict.fromkeys(keys)
    return {"metadata": patch}


def _is_of(api: client.ApiClient, namespace: str, tenant: str) -> bool:
    """Whether a Tenant still lists a namespace, or what Capsule knows of the namespace is still there."""
    found = _found(api, f"tenants/{tenant}")
    rules = _found(api, f"namespaces/{namespace}/rulestatuses/{_RULES}")
    return namespace in (found.get("status", {}).get("namespaces") or ()) or bool(rules)


def _found(api: client.ApiClient, path: str) -> Manifest:
    """An object of Capsule; empty if there is none."""
    from kubernetes.dynamic.exceptions import NotFoundError

    try:
        return get(api, f"/apis/{CAPSULE_API}/{path}")
    except NotFoundError:
        return {}
