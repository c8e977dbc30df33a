"""Reads a cluster: the tenant and its surroundings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kubernetes import client

from flux_tenancy.components.cluster.client import get, items
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.egress import ARTIFACT_NAME
from flux_tenancy.components.installs.flux.release import component_of
from flux_tenancy.components.tenant.role import FLUX_KINDS
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL, Controller
from flux_tenancy.isolation.inventory.intent import Intent
from flux_tenancy.isolation.scene import Scene, Tenancy, named_lane
from flux_tenancy.operations.admission.dry_run import Kind, served_kinds
from flux_tenancy.operations.admission.policies import policies_in_force
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


def tenants(api: client.ApiClient) -> list[str]:
    """The names of the tenants that own labelled namespaces, sorted.

    Raises:
        ApiException: the API server does not let the user see them.
    """
    found = items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL)
    return sorted({each["metadata"]["labels"][TENANT_LABEL] for each in found})


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
    found = items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL)
    return [each["metadata"]["name"] for each in found if each["metadata"]["labels"][TENANT_LABEL] == name]


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


def read(api: client.ApiClient, who: Tenancy, flux_namespace: str = "", intent: Intent | None = None) -> Scene:
    """Everything that the attempts depend on. Changes nothing.

    Args:
        flux_namespace: where Flux runs, if it does in several.
        intent: what the stack intends, if there is one.

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
        audited=intent.audited if intent is not None else (),
        opened=intent.opened_to(who.name) if intent is not None else None,
        bindings=[
            *items(api, f"{_RBAC}/clusterrolebindings"),
            *(
                each
                for each in items(api, f"{_RBAC}/rolebindings")
                if each["metadata"]["namespace"] not in who.namespaces
            ),
        ],
        storage_classes=items(api, "/apis/storage.k8s.io/v1/storageclasses"),
        allowed_classes=intent.config.policies.storage_classes if intent is not None else None,
        image=_image(objects.get("Pod", ())),
        alone=not any(_shares_lane(each, home) for each in namespaces),
        artifact_names=[
            each["metadata"]["name"]
            for each in items(api, f"/api/v1/namespaces/{flux}/services")
            if ARTIFACT_NAME.fullmatch(each["metadata"]["name"])
        ],
    )


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
