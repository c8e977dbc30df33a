"""Helm's records of a release that a killed update was installing, upgrading or removing: Helm refuses to go on.

Nothing is lost by them, so an update stops and says how to clear them (docs/troubleshooting.md#an-update-was-killed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.client import METADATA_LIST, explaining, items
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.chart import RELEASE_TYPE

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.installs.product import Product

_UNFINISHED = "status in (pending-install,pending-upgrade,pending-rollback,uninstalling)"
"""Selects records for as long as Helm works. Source: pkg/release/status.go of Helm 3.18."""


def unfinished_release(
    api: client.ApiClient, product: Product, state: State, stack_file: str, *, wanted: bool
) -> list[Problem]:
    """The records with which Pulumi's next operation would fail.

    Args:
        api: a client for the cluster.
        product: the product, which is the stack's own if the cluster has it.
        state: the stack's state; if it has no release, Pulumi installs it, which any record prevents.
        stack_file: name of the stack's file.
        wanted: whether the stack has the product; if not, nobody would remove one that is half installed.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    known = (RELEASE_TYPE, product.name) in state.resources
    if known and not wanted:
        return []
    records = f"owner=helm,name={product.name}"
    with explaining(api):
        found = items(
            api,
            f"/api/v1/namespaces/{product.namespace}/secrets",
            labelSelector=f"{records},{_UNFINISHED}" if known else records,
            accept=METADATA_LIST,
        )
    if not found:
        return []
    labels = max((each["metadata"]["labels"] for each in found), key=lambda each: int(each["version"]))
    message = (
        Message(
            f"FT-{product.area}-005",
            f"an interrupted update has left {product.title}'s Helm release {labels['status']}",
            f"run `kubectl delete secret -n {product.namespace} -l {records}` and `pulumi up --refresh`, which "
            "installs it over what is there",
        )
        if wanted
        else Message(
            f"FT-{product.area}-004",
            f"is not set, but an interrupted update has left {product.title} half installed",
            f"run `pulumi up` once with {product.name} to finish the installation, then remove it from the stack",
        )
    )
    return [Problem(stack_file, product.name, message)]
