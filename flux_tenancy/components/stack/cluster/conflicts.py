"""What the cluster has where the stack's objects would be: namespaces, Capsule's Tenants, single objects, and
installations of Flux, Kyverno and Capsule.

An apply would take over an object of others, including all fields that the stack does not set, so the platform team
decides. Until then, the update is refused or, where a tenant can cause the conflict, the platform's object is left out
with what depends on it, and everything else is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from flux_tenancy.components.config.messages import Message, Wording, printable
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
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API, CAPSULE_TENANT_LABEL, TENANT_TYPE
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.leaving.remaining_objects import NamespaceHolds
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client


NAMESPACE_TYPE = "kubernetes:core/v1:Namespace"
OF_PLATFORM = (FLUX_NAMESPACE, KYVERNO.namespace, CAPSULE.namespace)
"""The platform's own namespaces, as far as a stack has them."""


NO_NAMESPACE = Wording("FT-CLU-108", "the cluster has no namespace {namespace!r}", "{remedy}")


def namespace_problems(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """What is wrong with the namespaces, except for those that are being deleted (`held_namespaces`)."""
    return [*_unknown(config, cluster, stack_file), *_foreign(config, cluster, stack_file)]


def terminating(config: StackConfig, cluster: ClusterFacts, state: State) -> set[str]:
    """Namespaces that are being deleted, of tenants that the stack lists or has listed.

    Those that a tenant has made are in no state, so they count once the stack no longer lists the tenant.
    """
    left = state.names(TENANT_TYPE) - config.tenants.keys()
    made = {name for name, labels in cluster.namespaces.items() if labels.get(CAPSULE_TENANT_LABEL) in left}
    return set(cluster.terminating & (config.tenant_of_namespaces.keys() | state.names(NAMESPACE_TYPE) | made))


def held_namespaces(config: StackConfig, holds: Mapping[str, NamespaceHolds | None], stack_file: str) -> list[Problem]:
    """Namespaces of the platform and of listed tenants that are still being deleted: nothing can be created in them.

    Args:
        holds: what blocks the deletion of each namespace that is being deleted; None for one that is gone by now, which
            the facts of the cluster still have.
    """
    paths = {name: f"tenants.{tenant}" for name, tenant in config.tenant_of_namespaces.items()}
    return [
        Problem(stack_file, path, _being_deleted(namespace, holds[namespace]))
        for namespace, path in (dict.fromkeys(OF_PLATFORM, "cluster") | paths).items()
        if namespace in holds
    ]


def _being_deleted(namespace: str, holds: NamespaceHolds | None) -> Message:
    remedy = "wait until it is gone, and run the command again"
    if holds:
        # Flux's controllers may have gone before the objects that they finalize, and then nothing prunes.
        remedy = (
            "finalizers block it: when nothing needs them, or their controllers are gone, remove them with `kubectl "
            f"edit` and run the command again:{holds.listing}"
        )
    return Message("FT-CLU-110", f"namespace {namespace!r} is still being deleted", remedy)


def _unknown(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """Namespaces where Flux is to impersonate somebody and that neither the stack nor the cluster has."""
    known = {FLUX_NAMESPACE, *cluster.namespaces, *config.tenant_of_namespaces}
    return [
        Problem(
            stack_file,
            f"flux.impersonate[{index}].namespace",
            NO_NAMESPACE(
                namespace=entry.namespace,
                remedy="create it first, or let the platform's repository create the Role together with it "
                "(docs/lockdown.md#controllers-rights)",
            ),
        )
        for index, entry in enumerate(config.flux.impersonate)
        if entry.namespace not in known
    ]


def _foreign(config: StackConfig, cluster: ClusterFacts, stack_file: str) -> list[Problem]:
    """Existing namespaces that a tenant would take over without being labeled as this tenant's."""
    return [
        Problem(
            stack_file,
            f"tenants.{tenant}",
            Message(
                "FT-CLU-107",
                f"namespace {namespace!r} exists in the cluster and does not belong to this tenant",
                "choose another name, or, if everything in it belongs to this tenant, transfer it with `kubectl "
                f"label namespace {namespace} --overwrite {_of_stack(tenant)}`",
            ),
        )
        for namespace, tenant in config.tenant_of_namespaces.items()
        if namespace in cluster.namespaces and cluster.namespaces[namespace].get(TENANT_LABEL) != tenant
    ]


def _of_stack(tenant: str) -> str:
    """The labels of a tenant's namespace; the first alone is refused if the stack lists the tenant already."""
    return f"{TENANT_LABEL}={tenant} {MANAGED_BY_LABEL}={MANAGER}"


TENANTS_PATH = f"/apis/{CAPSULE_API}/tenants"


def capsule_problems(
    config: StackConfig, cluster: ClusterFacts, state: State, tenants: Collection[str], stack_file: str
) -> list[Problem]:
    """Why Capsule's tenants in the cluster cannot become those of the stack.

    Args:
        tenants: the names of Capsule's Tenants in the cluster; not needed where tenants make no namespaces.
    """
    own = state.names(TENANT_TYPE)
    if not config.makes_namespaces:
        return [*_unlisted(config, cluster, state, stack_file)]
    problems = [
        Problem(
            stack_file,
            f"tenants.{name}",
            Message(
                "FT-CAP-051",
                f"Capsule has a Tenant {name} that this stack does not manage",
                "choose another name for this tenant; to take the Tenant over with its namespaces, set cluster.adopt "
                "to true. Deleting the Tenant deletes the namespaces that it owns",
            ),
        )
        for name in config.tenants
        if name in tenants and name not in own and not config.cluster.adopt
    ]
    owners = owned_namespaces(cluster)
    return problems + [
        Problem(
            stack_file,
            f"tenants.{name}",
            Message(
                "FT-CAP-052",
                f"namespace {namespace} belongs to Capsule's Tenant {printable(owners[namespace])}",
                "choose another namespace, or have that Tenant release it",
            ),
        )
        for name, tenant in config.tenants.items()
        for namespace in tenant.namespace_names
        if owners.get(namespace, name) != name
    ]


def owned_namespaces(cluster: ClusterFacts) -> dict[str, str]:
    """The namespaces in the cluster that Capsule owns, each with the name of its Tenant."""
    return {
        name: labels[CAPSULE_TENANT_LABEL]
        for name, labels in cluster.namespaces.items()
        if CAPSULE_TENANT_LABEL in labels
    }


def made_namespaces(cluster: ClusterFacts, tenant: str, listed: Collection[str]) -> list[str]:
    """The namespaces that a tenant has made itself, by name."""
    return sorted(name for name, owner in owned_namespaces(cluster).items() if owner == tenant and name not in listed)


def surplus_namespaces(config: StackConfig, cluster: ClusterFacts) -> Iterator[Message]:
    """Says which tenants have more namespaces than they may: Capsule counts late; requests at once pass its quota."""
    owners = owned_namespaces(cluster)
    for name, tenant in config.tenants.items() if config.makes_namespaces else ():
        owned, most = (
            [each for each in owners if owners[each] == name],
            capsule_limits(tenant, config.tenancy).namespaces,
        )
        if len(owned) > most:
            namespaces = ", ".join(sorted(owned))
            yield Message(
                "FT-CAP-055",
                f"tenant {name} has {len(owned)} namespaces in addition to its home; the maximum is {most}: "
                f"{namespaces}",
                "have the tenant remove some of them from its repository, or raise capsule.namespaces",
            )


def _unlisted(config: StackConfig, cluster: ClusterFacts, state: State, stack_file: str) -> Iterator[Problem]:
    """Namespaces of tenants that stay, which they have made themselves and would lose with Capsule's Tenant."""
    own, applied = state.names(TENANT_TYPE), state.names(NAMESPACE_TYPE)
    for name in config.tenants:
        if name in own and (made := made_namespaces(cluster, name, applied)):
            message = Message(
                "FT-CAP-053",
                f"has created the namespaces {', '.join(made)}; changing tenancy.mode would delete them with "
                "Capsule's Tenant",
                "add them to its namespaces and run `pulumi up` before you change the mode, or have the "
                "tenant remove them from its repository",
            )
            yield Problem(stack_file, f"tenants.{name}", message)


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
