"""Waiting until Capsule has written the limits of the namespaces that tenants have made.

A policy refuses what is created in such a namespace as long as a limit is missing
(`components.policies.capsule_limits`). So where a limit is new or has a new label, as after an update of this program,
the policy waits for the limit, which Capsule writes once the same update has changed the replication.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.client import collection_of, explaining, items
from flux_tenancy.components.cluster.waiting import wait_for
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.tenant.capsule.names import LIMIT_LABEL, SELF_MADE
from flux_tenancy.components.tenant.capsule.objects import required_limits
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.tenancy_config import TenancyConfig

# The update changes the replications meanwhile, and Capsule writes them as soon as it has.
_TIMEOUT_SECONDS = 60.0


def wait_until_replicated(api: client.ApiClient, tenants: Collection[str], tenancy: TenancyConfig) -> None:
    """Wait until each namespace that a tenant has made has all of its limits.

    A namespace that does not get them in time is named and stops nobody: nothing can be created there until it does.

    Args:
        api: a client for the cluster.
        tenants: names of the tenants of the stack.
        tenancy: the settings of all tenants, which say what the limits are.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    if missing := wait_for(partial(_without_limits, api, tenants, tenancy), _TIMEOUT_SECONDS):
        log.warn(
            Message(
                "FT-CAP-054",
                f"after {_TIMEOUT_SECONDS:.0f} s, the namespaces {missing} still lack limits; nothing can be "
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
