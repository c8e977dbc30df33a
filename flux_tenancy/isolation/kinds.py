"""The kinds that attempts are made with, and where a cluster serves them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from kubernetes import client

from flux_tenancy.components.tenant.kinds import FLUX_KINDS
from flux_tenancy.components.vocabulary.manifests import RBAC
from flux_tenancy.operations.admission.dry_run import Kind, served_kinds

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
    return {"Namespace": _NAMESPACE} | {names[_group(kind), kind.resource]: kind for kind in found}


def _group(kind: Kind) -> str:
    return kind.api_version.rpartition("/")[0]
