"""A tenant as its cluster has it: its syncs, and what Flux has applied and no longer applies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    ClusterUnavailable,
    explaining,
    find_object,
    items,
)
from flux_tenancy.components.cluster.namespaced_kinds import NamespacedKind, read_namespaced_kinds
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.sync.flux_objects import read_syncs
from flux_tenancy.components.sync.status import status_of
from flux_tenancy.components.tenant.leaving.forced_removal import bindings_of
from flux_tenancy.components.tenant.leaving.remaining_objects import goes_by_itself
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, KUSTOMIZE_API, TENANT_LABEL
from flux_tenancy.operations.drift.foreign_grants import applied_by_flux
from flux_tenancy.operations.stack.connected import connect_to_read
from flux_tenancy.project.described_stack import described_tenant
from flux_tenancy.project.errors import OperationError, invalid

# Set by kustomize-controller on what it applies.
_NAME_LABEL, _NAMESPACE_LABEL = "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"


@dataclass(frozen=True)
class LiveTenant:
    """A tenant in a cluster.

    Attributes:
        name: its name.
        namespaces: its namespaces; the first is its home.
        api: a client for the cluster.
        syncs: some of its Kustomizations.
    """

    name: str
    namespaces: tuple[str, ...]
    api: client.ApiClient
    syncs: tuple[dict[str, Any], ...]

    @property
    def prunes(self) -> bool:
        """Whether Flux deletes what one of them has applied and what is no longer in the repository."""
        return any(each["spec"].get("prune") for each in self.syncs)

    @property
    def not_ready(self) -> str:
        """Why one of them is not ready; empty if all are."""
        for each in self.syncs:
            if (status := status_of(each)).ready != "True":
                return self.said_of(each, status.message)
        return ""

    def said_of(self, sync: Mapping[str, Any], reason: str) -> str:
        """A reason with the name of its sync, unless that is the tenant's own."""
        name = sync["metadata"]["name"]
        return reason if name == self.name else f"sync {name}: {reason}"

    def left_over(self) -> list[str]:
        """What Flux has applied and no longer applies, as `Kind namespace/name`.

        Raises:
            ClusterUnavailable: the cluster does not answer, or not to this user.
        """
        applied = applied_by_flux(self.syncs)
        names = ",".join(each["metadata"]["name"] for each in self.syncs)
        labels = f"{_NAME_LABEL} in ({names}),{_NAMESPACE_LABEL}={self.namespaces[0]}"
        kinds = read_namespaced_kinds(self.api)
        with explaining(self.api):
            return sorted(
                each
                for kind in kinds
                for namespace in self.namespaces
                for each in left_over(
                    kind, items(self.api, kind.path(namespace), accept=METADATA_LIST, labelSelector=labels), applied
                )
            )


def left_over(kind: NamespacedKind, found: Iterable[Mapping[str, Any]], applied: Collection[str]) -> Iterator[str]:
    """Those objects of a kind that are in no inventory and do not go by themselves, as `Kind namespace/name`.

    Args:
        kind: the kind.
        found: the objects.
        applied: what Flux has in its inventories (`applied_by_flux`).
    """
    group = kind.root.removeprefix("/apis/").rpartition("/")[0] if kind.root.startswith("/apis/") else ""
    for each in found:
        namespace, name = each["metadata"]["namespace"], each["metadata"]["name"]
        # Kubernetes copies the labels of a Service to its endpoints.
        if goes_by_itself(kind.kind, each["metadata"], pruned=False):
            continue
        if f"{namespace}_{name.replace(':', '__')}_{group}_{kind.kind}" not in applied:
            yield printable(f"{kind.kind} {namespace}/{name}")


def live_tenant(tenant: str, stack: str, project: Path, syncs: Iterable[str]) -> LiveTenant:
    """A tenant of a stack in the stack's cluster.

    Args:
        tenant: name of the tenant.
        stack: name of the stack.
        project: folder of the Pulumi project.
        syncs: names of Kustomizations of the tenant.

    Raises:
        OperationError: the stack does not list it, or its cluster does not answer or lacks one of the Kustomizations.
    """
    namespaces = namespaces_of(described_tenant(stack, tenant, project).value)
    found = []
    try:
        api = connect_to_read(stack, project)
        for name in syncs:
            metadata = {"name": name, "namespace": next(iter(namespaces), "")}
            manifest = {"apiVersion": KUSTOMIZE_API, "kind": KUSTOMIZATION, "metadata": metadata}
            if (sync := find_object(api, manifest) if namespaces else None) is None:
                raise OperationError(
                    Message(
                        "FT-OPS-308",
                        f"the cluster of stack {stack} has no Kustomization {name} of tenant {tenant}",
                        f"apply the stack first: `pulumi up --stack {stack}`",
                    )
                )
            found.append(sync)
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None
    return LiveTenant(tenant, namespaces, api, tuple(found))


def access_of(api: client.ApiClient, tenant: str) -> list[str]:
    """The syncs, releases and role bindings that the platform has created for a tenant, as `Kind namespace/name`.

    `state: leaving` deletes them, the bindings last, since Flux needs them to prune.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    syncs = read_syncs(api, (KUSTOMIZATION, HELM_RELEASE))
    own = [each for each in syncs if (each["metadata"].get("labels") or {}).get(TENANT_LABEL) == tenant]
    return [
        *(f"{each['kind']} {name_of(each)}" for each in own),
        *(f"RoleBinding {name_of(each)}" for each in bindings_of(api, tenant)),
    ]


def namespaces_of(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The namespaces of a tenant that need not be valid."""
    listed = described.get("namespaces")
    return tuple(
        str(each["name"])
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and "name" in each
    )
