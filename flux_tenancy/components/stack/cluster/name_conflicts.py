"""Objects of others where the stack's would be: single ones, and installations of Flux, Kyverno and Capsule.

An apply would take over such an object, including all fields that the stack does not set, so the platform team decides.
Until then, the platform's object is not created, and neither is what depends on it. A tenant can cause such a conflict,
so everything else is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    ClusterFacts,
    explaining,
    items,
    read_webhook_configurations,
)
from flux_tenancy.components.cluster.component import names_cluster
from flux_tenancy.components.cluster.hooks import NotReady
from flux_tenancy.components.config.errors import Problem, present
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import (
    CAPSULE,
    CAPSULE_GROUP,
    CREATED_WEBHOOKS,
    DEFINITION_TYPE,
    generated_objects,
)
from flux_tenancy.components.installs.kyverno import KYVERNO, webhook_configurations
from flux_tenancy.components.installs.product import Product
from flux_tenancy.components.plan import carries_marks, key_of
from flux_tenancy.components.stack.cluster.namespaces import NAMESPACE_TYPE
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

NAME_TAKEN = Wording(
    "FT-CLU-114",
    "{kind} {name} exists in the cluster and does not belong to the platform, which needs this name for tenant "
    "{tenant}; the platform's {kind} and what depends on it are left out",
    "{remedy} it with `kubectl delete {target}`",
)
_DELETE = "when nothing uses it, delete"

# Their deletion deletes what they have applied, and a change of their path prunes it.
_PRUNING = frozenset({"Kustomization", "HelmRelease"})


@dataclass(frozen=True)
class NameConflict:
    """An object of others that has the name of an object of the platform.

    Attributes:
        tenant: the tenant in whose namespace it is.
        key: the key of the platform's object (`components.plan.key_of`).
        message: what is left out, and what to do.
    """

    tenant: str
    key: str
    message: Message


def name_conflicts(
    config: StackConfig, plan: Plan, cluster: ClusterFacts, state: State, find: Find
) -> list[NameConflict]:
    """Each object of others whose name this update needs; none with `cluster.adopt`.

    Args:
        cluster: facts of the cluster; a namespace that does not exist yet is empty.
        find: returns the cluster's object of the same kind, namespace and name, or None.
    """
    if config.cluster.adopt:
        return []
    return [
        NameConflict(tenant, each.key, _message(tenant, each.manifest, found))
        for tenant, each in plan.named_in_tenants
        if cluster.namespaces.get(each.namespace, {}).get(TENANT_LABEL) == tenant
        and (resource_type(each.manifest), name_of(each.manifest)) not in state.resources
        and (found := find(each.manifest)) is not None
        and found["metadata"].get("labels", {}).get(TENANT_LABEL) != tenant
    ]


class ConflictHooks:
    """Fails the creation of each object whose name is taken, and with it only what depends on the object."""

    def __init__(self, conflicts: Sequence[NameConflict]) -> None:
        self.keys = {each.key for each in conflicts}
        self.tenants = {each.tenant for each in conflicts}
        self._messages = {each.key: each.message for each in conflicts}
        self._taken = pulumi.ResourceHook("name-taken", self._refuse)

    def of(self, manifest: Manifest) -> pulumi.ResourceHookBinding:
        """The hooks of an object; none if its name is free."""
        return pulumi.ResourceHookBinding(before_create=[self._taken] if key_of(manifest) in self.keys else [])

    async def _refuse(self, args: pulumi.ResourceHookArgs) -> None:
        created = present(args.new_inputs, "something is created")
        raise NotReady(self._messages[key_of(dict(created))])


def _message(tenant: str, manifest: Manifest, found: Mapping[str, Any]) -> Message:
    metadata = manifest["metadata"]
    target = f"{manifest['kind'].lower()} {metadata['name']} -n {metadata['namespace']}"
    if manifest["kind"] in _PRUNING:
        remedy = (
            f"suspend it with `flux suspend {target}`, so that its deletion keeps the applied objects; then remove it "
            "from its repository, if any, which would restore it, and delete"
        )
    elif found.get("immutable"):
        remedy = _DELETE
    else:
        remedy = f"transfer it with `kubectl label {target} {TENANT_LABEL}={tenant}`, or, {_DELETE}"
    return NAME_TAKEN(kind=manifest["kind"], name=name_of(manifest), tenant=tenant, target=target, remedy=remedy)


def foreign_flux(cluster: ClusterFacts, state: State, stack_file: str) -> list[Problem]:
    """A Flux that somebody else has installed."""
    if FLUX_NAMESPACE not in cluster.namespaces or FLUX_NAMESPACE in state.names(NAMESPACE_TYPE):
        return []
    if FLUX_NAMESPACE in cluster.marked and names_cluster(state, cluster.uid):
        return []
    return [
        Problem(
            stack_file,
            "flux",
            Message(
                "FT-CLU-105",
                f"the cluster has a namespace {FLUX_NAMESPACE} that does not belong to this stack",
                "set cluster.adopt to take it over (docs/adoption.md); do not delete it, since Flux would then prune "
                "what it has applied",
            ),
        )
    ]


_GENERATED: Mapping[str, tuple[Callable[[], list[Manifest]], Wording]] = {
    KYVERNO.name: (
        webhook_configurations,
        Wording(
            "FT-CLU-106",
            "the cluster has a Kyverno that does not belong to this stack ({found}); it cannot be taken over",
            "remove kyverno from the stack and set policies.engine to native; uninstall the other Kyverno only when "
            "nothing needs its policies",
        ),
    ),
    CAPSULE.name: (
        generated_objects,
        Wording(
            "FT-CAP-020",
            "the cluster has a Capsule that does not belong to this stack ({found}); it cannot be taken over",
            "remove capsule from the stack, and set tenancy.mode to namespaces; do not delete Capsule's Tenants or "
            "their definition, since that deletes the namespaces that they own",
        ),
    ),
}
"""What each product generates in the cluster, which the stack creates before the product, and the refusal."""


def foreign_product(
    product: Product, cluster: ClusterFacts, read: Callable[[], Mapping[str, bool]], state: State, stack_file: str
) -> list[Problem]:
    """A Kyverno or a Capsule that somebody else has installed.

    Not even `cluster.adopt` takes it over: its settings, which decide what is admitted and whose namespaces are whose,
    are not the stack's.

    Args:
        read: reads what the product has in the cluster, by name, each with whether this program has applied it.
    """
    namespace = product.namespace
    if namespace in state.names(NAMESPACE_TYPE):
        return []
    generated, refusal = _GENERATED[product.name]
    begun = names_cluster(state, cluster.uid)
    is_foreign = namespace in cluster.namespaces and not (begun and namespace in cluster.marked)
    # An update may have been killed after it had created nothing but these.
    own = state.names(DEFINITION_TYPE).union(*(state.names(resource_type(each)) for each in generated()))
    found = [f"the namespace {namespace}"] if is_foreign else []
    found += sorted(name for name, marked in read().items() if name not in own and not (marked and begun))
    return [Problem(stack_file, product.name, refusal(found=", ".join(found)))] if found else []


def read_capsules(api: client.ApiClient) -> dict[str, bool]:
    """Capsule's custom resource definitions and webhook configurations, each with whether this program has applied it.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        listed = items(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", accept=METADATA_LIST)
    definitions = {
        metadata["name"]: carries_marks(metadata)
        for metadata in (each["metadata"] for each in listed)
        if metadata["name"].endswith(f".{CAPSULE_GROUP}")
    }
    selector = ",".join(f"{key}={value}" for key, value in CREATED_WEBHOOKS.items())
    return definitions | read_webhook_configurations(api, selector)
