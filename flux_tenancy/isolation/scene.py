"""What attempts depend on in a cluster: the tenant, its surroundings, and the configuration of Flux's controllers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from flux_tenancy.components.installs.flux.release import lane_of
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.tenant.annotations import LANE
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE, Controller
from flux_tenancy.operations.admission.dry_run import Kind
from flux_tenancy.operations.admission.policies import PolicyInForce


@dataclass(frozen=True)
class Tenancy:
    """A tenant of a cluster.

    Attributes:
        namespaces: its namespaces; attempts run in the first, which has its service account.
        account: name of the service account that Flux impersonates; empty if only the inventory is made.
    """

    name: str
    namespaces: tuple[str, ...]
    account: str

    @property
    def home(self) -> str:
        return self.namespaces[0]

    @property
    def user(self) -> str:
        """The account's user name in Kubernetes; empty without an account."""
        return self.account and f"system:serviceaccount:{self.home}:{self.account}"


@dataclass(frozen=True)
class Scene:
    """A cluster around a tenant, as read before the first attempt.

    Attributes:
        flux: the namespace of Flux's controllers.
        foreign: a namespace that is not the tenant's.
        kinds: what the cluster serves, by name.
        namespace: the tenant's first namespace.
        controllers: Deployments of Flux's controllers; several of one where there are shards or lanes.
        objects: lists by kind: those in the tenant's namespaces.
        flux_policies: NetworkPolicies of Flux's namespace.
        admission_policies: names of the cluster's ValidatingAdmissionPolicies that are bound.
        policies: this project's policies that the cluster evaluates.
        audited: those of them that the stack itself has in audit.
        opened: the kinds that the stack opens to the tenant; None where no stack says it.
        bindings: ClusterRoleBindings, and RoleBindings outside of the tenant's namespaces.
        allowed_classes: the storage classes that the stack lists; None for any.
        image: an image that the tenant already runs, or a made-up one.
        alone: whether no other tenant is in the tenant's lane.
        artifact_names: the random names of artifact servers.
    """

    tenancy: Tenancy
    flux: str
    foreign: str
    kinds: Mapping[str, Kind]
    namespace: Manifest
    controllers: Mapping[Controller, Sequence[Manifest]] = field(default_factory=dict)
    objects: Mapping[str, Sequence[Manifest]] = field(default_factory=dict)
    flux_policies: Sequence[Manifest] = ()
    webhooks: Sequence[Manifest] = ()
    admission_policies: Sequence[str] = ()
    policies: Sequence[PolicyInForce] = ()
    audited: Collection[PolicyName] = ()
    opened: Collection[str] | None = None
    bindings: Sequence[Manifest] = ()
    storage_classes: Sequence[Manifest] = ()
    allowed_classes: Sequence[str] | None = None
    image: str = "registry.example.com/isolation:1"
    alone: bool = False
    artifact_names: Sequence[str] = ()

    def of_home(self, kind: str) -> list[Manifest]:
        """The objects of a kind in the tenant's first namespace."""
        return [each for each in self.objects.get(kind, ()) if each["metadata"]["namespace"] == self.tenancy.home]

    @property
    def lane(self) -> str:
        """The tenant's lane; empty if the cluster has no lanes."""
        has_lanes = any(lane_of(each) for deployments in self.controllers.values() for each in deployments)
        return named_lane(self.namespace) if has_lanes else ""

    def controller_user(self, controller: Controller) -> str:
        """The user name of a controller's service account; empty if the cluster has no such controller.

        Of several instances, this is the account of the one in the tenant's lane, or of the first.
        """
        deployments = self.controllers.get(controller, ())
        for deployment in sorted(deployments, key=lambda each: lane_of(each) != self.lane):
            account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
            return f"system:serviceaccount:{deployment['metadata']['namespace']}:{account}"
        return ""


def named_lane(namespace: Manifest) -> str:
    """The lane of a tenant's namespace, if the cluster has lanes."""
    lane: str = namespace["metadata"].get("annotations", {}).get(LANE, DEFAULT_LANE)
    return lane
