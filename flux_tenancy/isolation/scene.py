"""What attempts depend on in a cluster: the tenant, its surroundings, and the configuration of Flux's controllers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kubernetes import client

from flux_tenancy.components.cluster.client import get, items
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.egress import ARTIFACT_NAME
from flux_tenancy.components.installs.flux.release import component_of, lane_of
from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.rbac.subjects import user_of
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.annotations import LANE
from flux_tenancy.components.tenant.role import FLUX_KINDS
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE, TENANT_LABEL, Controller
from flux_tenancy.operations.admission.dry_run import Kind, served_kinds
from flux_tenancy.operations.admission.policies import PolicyInForce, policies_in_force
from flux_tenancy.project.errors import OperationError

NO_TENANT = Wording(
    "FT-ISO-021",
    "no namespace has the label {label}; the cluster has these tenants: {tenants}",
    "name an existing tenant with --tenant, or its namespace with --namespace",
)
_MISSING = Wording(
    "FT-ISO-020", "the cluster has no {what}", "name an existing one with --namespace or --service-account"
)
NO_ACCOUNT = Wording(
    "FT-ISO-023",
    "cannot detect the account that Flux impersonates in {where}; bound there: {accounts}",
    "name it with --service-account, and its namespace with --namespace",
)

_RBAC = f"/apis/{RBAC_API}"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_READ = (
    "Event",
    "GitRepository",
    "HelmRelease",
    "Kustomization",
    "LimitRange",
    "NetworkPolicy",
    "Pod",
    "ResourceQuota",
    "RoleBinding",
    "Service",
)
_DEFAULT_IMAGE = "registry.example.com/isolation:1"


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
        return self.account and user_of(self.home, self.account)


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
    image: str = _DEFAULT_IMAGE
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
            return user_of(deployment["metadata"]["namespace"], account)
        return ""


def named_lane(namespace: Manifest) -> str:
    """The lane of a tenant's namespace, if the cluster has lanes."""
    lane: str = namespace["metadata"].get("annotations", {}).get(LANE, DEFAULT_LANE)
    return lane


def tenants(api: client.ApiClient) -> list[str]:
    """The names of the tenants that own labelled namespaces, sorted.

    Raises:
        ApiException: the API server does not let the user see them.
    """
    return sorted(set(_labelled(api).values()))


def has_account(api: client.ApiClient, name: str) -> bool:
    """Whether any service account has rights in a tenant's namespaces; a tenant that is leaving has none.

    Raises:
        ApiException: the API server does not let the user look.
    """
    return bool(_accounts(api, labelled_namespaces(api, name)))


def labelled_namespaces(api: client.ApiClient, name: str) -> list[str]:
    """The namespaces with the label of a tenant.

    Raises:
        ApiException: the API server does not let the user see them.
    """
    return [namespace for namespace, tenant in _labelled(api).items() if tenant == name]


def _labelled(api: client.ApiClient) -> dict[str, str]:
    found = items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL)
    return {each["metadata"]["name"]: each["metadata"]["labels"][TENANT_LABEL] for each in found}


def tenancy(api: client.ApiClient, name: str, namespaces: Sequence[str] = (), account: str = "") -> Tenancy:
    """The namespaces and the service account of a tenant.

    Args:
        name: of the tenant; may be empty where its namespaces are given.
        namespaces: its namespaces; those with the label `toolkit.fluxcd.io/tenant` where empty.
        account: its service account; detected from the bindings in its namespaces where empty.

    Raises:
        OperationError: the cluster has no such tenant, or its account cannot be detected.
        ApiException: the API server does not let the user look.
    """
    there = {each["metadata"]["name"]: each["metadata"] for each in items(api, "/api/v1/namespaces")}
    missing = [namespace for namespace in namespaces if namespace not in there]
    if missing:
        raise OperationError(_MISSING(what=f"namespace {missing[0]}"))
    own = list(namespaces) or sorted(
        namespace for namespace, metadata in there.items() if metadata.get("labels", {}).get(TENANT_LABEL) == name
    )
    if not own:
        has = ", ".join(tenants(api)) or "none"
        raise OperationError(NO_TENANT(label=f"{TENANT_LABEL}: {name}", tenants=has))
    home, account = (own[0], account) if account else _account(api, own)
    if account not in {each["metadata"]["name"] for each in items(api, f"/api/v1/namespaces/{home}/serviceaccounts")}:
        raise OperationError(_MISSING(what=f"service account {home}/{account}"))
    label = there[home].get("labels", {}).get(TENANT_LABEL, "")
    return Tenancy(name or label or home, (home, *(each for each in own if each != home)), account)


def _account(api: client.ApiClient, namespaces: Sequence[str]) -> tuple[str, str]:
    """Namespace and name of the service account that has rights there and that Flux impersonates."""
    found = _accounts(api, namespaces)
    if len(found) != 1:
        names = ", ".join(sorted("/".join(each) for each in found)) or "none"
        raise OperationError(NO_ACCOUNT(where=", ".join(namespaces), accounts=names))
    [one] = found
    return one


def _accounts(api: client.ApiClient, namespaces: Sequence[str]) -> set[tuple[str, str]]:
    """Namespace and name of each service account that may be the one that Flux impersonates there."""
    bound, applying = set(), set()
    for namespace in namespaces:
        for binding in items(api, f"{_RBAC}/namespaces/{namespace}/rolebindings"):
            # Bindings of the tenant's own do not count if the platform's are labelled.
            labelled = TENANT_LABEL in binding["metadata"].get("labels", {})
            for subject in binding.get("subjects", ()):
                if subject["kind"] == "ServiceAccount" and subject.get("namespace", namespace) in namespaces:
                    bound.add((labelled, subject.get("namespace", namespace), subject["name"]))
        for sync in items(api, f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{namespace}/kustomizations"):
            applying.add((namespace, sync["spec"].get("serviceAccountName", "")))
    candidates = {each[1:] for each in bound if each[0]} or {each[1:] for each in bound}
    return candidates & applying or candidates


def read(api: client.ApiClient, who: Tenancy, flux_namespace: str = "", config: StackConfig | None = None) -> Scene:
    """Everything that the attempts depend on. Changes nothing.

    Args:
        flux_namespace: where Flux runs, if it does in several.
        config: the stack, if there is one.

    Raises:
        OperationError: the cluster has no Flux.
        ApiException: the API server does not let the user look.
    """
    kinds = served(api)
    if "Kustomization" not in kinds:
        raise OperationError(
            Message("FT-ISO-024", "Flux is not installed: the cluster serves no Kustomizations", "install Flux first")
        )
    controllers = _controllers(items(api, "/apis/apps/v1/deployments"), flux_namespace)
    deployments = [each for group in controllers.values() for each in group]
    flux = flux_namespace or (deployments[0]["metadata"]["namespace"] if deployments else "flux-system")
    objects = {
        kind: [each for namespace in who.namespaces for each in items(api, kinds[kind].path(namespace))]
        for kind in _READ
        if kind in kinds
    }
    namespaces = items(api, "/api/v1/namespaces")
    home = next(each for each in namespaces if each["metadata"]["name"] == who.home)
    return Scene(
        tenancy=who,
        flux=flux,
        foreign=_foreign(namespaces, who, flux),
        kinds=kinds,
        namespace=home,
        controllers=controllers,
        objects=objects,
        flux_policies=items(api, f"/apis/networking.k8s.io/v1/namespaces/{flux}/networkpolicies"),
        webhooks=items(api, f"{_ADMISSION}/validatingwebhookconfigurations"),
        admission_policies=sorted(
            {each["spec"]["policyName"] for each in items(api, f"{_ADMISSION}/validatingadmissionpolicybindings")}
        ),
        policies=policies_in_force(api),
        audited=_audited(config) if config is not None else (),
        opened=_opened(config, who.name) if config is not None else None,
        bindings=[
            *items(api, f"{_RBAC}/clusterrolebindings"),
            *(
                each
                for each in items(api, f"{_RBAC}/rolebindings")
                if each["metadata"]["namespace"] not in who.namespaces
            ),
        ],
        storage_classes=items(api, "/apis/storage.k8s.io/v1/storageclasses"),
        allowed_classes=config.policies.storage_classes if config is not None else None,
        image=_image(objects.get("Pod", ())),
        alone=not any(_shares_lane(each, home) for each in namespaces),
        artifact_names=[
            each["metadata"]["name"]
            for each in items(api, f"/api/v1/namespaces/{flux}/services")
            if ARTIFACT_NAME.fullmatch(each["metadata"]["name"])
        ],
    )


def _audited(config: StackConfig) -> list[PolicyName]:
    """The policies that are meant to refuse nothing."""
    return [each for each in PolicyName if config.policies.mode_of(each) is PolicyMode.AUDIT]


def _opened(config: StackConfig, tenant: str) -> frozenset[str]:
    """The kinds that the stack opens to a tenant, listed or not, as `tenancy.kinds` has them."""
    listed = config.tenants.get(tenant)
    return frozenset((*config.tenancy.kinds, *(listed.policies.kinds if listed is not None else ())))


def _shares_lane(other: Manifest, home: Manifest) -> bool:
    """Whether a namespace is another tenant's, and in the same lane."""
    theirs, own = (each["metadata"].get("labels", {}).get(TENANT_LABEL) for each in (other, home))
    return theirs not in (None, own) and named_lane(other) == named_lane(home)


def version(api: client.ApiClient) -> str:
    """The version of the API server."""
    return str(get(api, "/version/")["gitVersion"])


def _controllers(deployments: Sequence[Manifest], namespace: str) -> dict[Controller, list[Manifest]]:
    found: dict[Controller, list[Manifest]] = defaultdict(list)
    for each in deployments:
        name = each["metadata"]["name"]
        controller = component_of(each) or (Controller(name) if name in list(Controller) else None)
        if controller is not None and namespace in ("", each["metadata"]["namespace"]):
            found[controller].append(each)
    return dict(found)


def _foreign(namespaces: Sequence[Manifest], who: Tenancy, flux: str) -> str:
    """A namespace of another tenant; else any that is not this tenant's."""
    others = [
        each["metadata"]["name"]
        for each in namespaces
        if each["metadata"].get("labels", {}).get(TENANT_LABEL, who.name) != who.name
    ]
    return next((name for name in others if name not in (*who.namespaces, flux)), "default")


def _image(pods: Sequence[Manifest]) -> str:
    """An image that already runs there, so the tenant may run it."""
    images = [container["image"] for pod in pods for container in pod["spec"]["containers"]]
    return images[0] if images else _DEFAULT_IMAGE


RESOURCES: Mapping[str, tuple[str, str]] = {
    "ConfigMap": ("", "configmaps"),
    "Endpoints": ("", "endpoints"),
    "Event": ("", "events"),
    "LimitRange": ("", "limitranges"),
    "PersistentVolumeClaim": ("", "persistentvolumeclaims"),
    "Pod": ("", "pods"),
    "ResourceQuota": ("", "resourcequotas"),
    "Secret": ("", "secrets"),
    "Service": ("", "services"),
    "ServiceAccount": ("", "serviceaccounts"),
    "ControllerRevision": ("apps", "controllerrevisions"),
    "DaemonSet": ("apps", "daemonsets"),
    "Deployment": ("apps", "deployments"),
    "StatefulSet": ("apps", "statefulsets"),
    "HorizontalPodAutoscaler": ("autoscaling", "horizontalpodautoscalers"),
    "CronJob": ("batch", "cronjobs"),
    "Job": ("batch", "jobs"),
    "Lease": ("coordination.k8s.io", "leases"),
    "EndpointSlice": ("discovery.k8s.io", "endpointslices"),
    "Ingress": ("networking.k8s.io", "ingresses"),
    "NetworkPolicy": ("networking.k8s.io", "networkpolicies"),
    "PodDisruptionBudget": ("policy", "poddisruptionbudgets"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
    **FLUX_KINDS,
    "ExternalArtifact": ("source.toolkit.fluxcd.io", "externalartifacts"),
    "Policy": ("kyverno.io", "policies"),
    "NamespacedValidatingPolicy": ("policies.kyverno.io", "namespacedvalidatingpolicies"),
    "PolicyException": ("policies.kyverno.io", "policyexceptions"),
}
"""API group and plural of each kind."""

_NAMESPACE = Kind("v1", "Namespace", "namespaces")


def served(api: client.ApiClient) -> dict[str, Kind]:
    """The kinds that the cluster serves, by name.

    Raises:
        ApiException: the API server does not let the user see them.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for group, resource in RESOURCES.values():
        groups[group].append(resource)
    found = [kind for group, names in groups.items() for kind in served_kinds(api, group, names)]
    names = {pair: name for name, pair in RESOURCES.items()}
    return {"Namespace": _NAMESPACE} | {
        names[kind.api_version.rpartition("/")[0], kind.resource]: kind for kind in found
    }
