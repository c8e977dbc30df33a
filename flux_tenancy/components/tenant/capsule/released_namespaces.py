"""Taking namespaces out of a Tenant of Capsule, so that they and all that is in them outlive it.

Capsule deletes a Tenant's namespaces with the Tenant, by the list in its status, and puts a namespace's label back as
long as the namespace has an owner reference. So the label and the reference go in one request before Pulumi applies
the namespace without the label, and Pulumi goes on only when the status has caught up.

A namespace that a tenant has made and that the stack lists now leaves its Tenant for a moment, too: what Capsule has
set there it would otherwise remove as soon as the namespace is the stack's, with the labels that Pulumi sets as well.

Source: internal/webhook/namespace/mutation/assignment.go, internal/controllers/tenant/namespaces.go and
internal/controllers/rulestatus/managed_metadata.go of Capsule 0.14

A policy refuses what is created in a namespace that a tenant has made as long as a limit is missing
(`components.policies.native_only`). So where a limit is new or has a new label, as after an update of this program,
the policy waits for the limit, which Capsule writes once the same update has changed the replication.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import collection_of, explaining, get, items, patch_current
from flux_tenancy.components.cluster.hooks import NotReady, before_changes, in_thread, wait_for
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP
from flux_tenancy.components.tenant.capsule.config import (
    CAPSULE_API,
    CAPSULE_TENANT_LABEL,
    KEYS_OF_CAPSULE,
    LIMIT_LABEL,
    OWNER,
    SELF_MADE,
    SETTINGS,
    TENANT,
)
from flux_tenancy.components.tenant.capsule.objects import required_limits
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.config import TenancyConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_TIMEOUT_SECONDS = 60
_RULES = "capsule-managed-rules"


class Releases:
    """The hook that takes a namespace out of its Tenant before it is applied without Capsule's label, or first of all.

    Args:
        owned: the namespaces that a Tenant of this stack owns in the cluster, each with the Tenant's name.
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


# The update changes the replications meanwhile, and Capsule writes them as soon as it has.
_LIMITS_SECONDS = 60.0


def wait_until_replicated(api: client.ApiClient, tenants: Collection[str], tenancy: TenancyConfig) -> None:
    """Wait until each namespace that a tenant has made has all of its limits.

    A namespace that does not get them in time is named and stops nobody: nothing can be created there until it does.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    if missing := wait_for(partial(_without_limits, api, tenants, tenancy), _LIMITS_SECONDS):
        log.warn(
            Message(
                "FT-CAP-054",
                f"after {_LIMITS_SECONDS:.0f} s, the namespaces {missing} still lack limits; nothing can be "
                "created there until the limits exist",
                "check that Capsule is healthy (`kubectl get globaltenantresources.capsule.clastix.io`)",
            )
        )


def _without_limits(api: client.ApiClient, tenants: Collection[str], tenancy: TenancyConfig) -> str | None:
    """The namespaces without all limits, for a message; None if there are none."""
    with explaining(api):
        made = {
            each["metadata"]["name"]
            for each in items(api, "/api/v1/namespaces", labelSelector=_selector(SELF_MADE.items()))
            if each["metadata"]["labels"].get(TENANT_LABEL) in tenants and "deletionTimestamp" not in each["metadata"]
        }
        limited = [
            {
                each["metadata"]["namespace"]
                for each in items(api, path, labelSelector=_selector([(LIMIT_LABEL, limit)]))
            }
            for api_version, kind, limit in required_limits(tenancy)
            if (path := collection_of(resource_type({"apiVersion": api_version, "kind": kind})))
        ]
    return ", ".join(sorted(made - set.intersection(*limited))) or None


def _selector(labels: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels)
