"""The kinds that attempts are made with, and where a cluster serves them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from kubernetes import client

from operations.dry_run import Kind, served_kinds

RBAC = "rbac.authorization.k8s.io"
_SOURCE, _IMAGE, _NOTIFICATION = (f"{name}.toolkit.fluxcd.io" for name in ("source", "image", "notification"))

RESOURCES: Mapping[str, tuple[str, str]] = {
    "ConfigMap": ("", "configmaps"),
    "Endpoints": ("", "endpoints"),
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
    "Bucket": (_SOURCE, "buckets"),
    "ExternalArtifact": (_SOURCE, "externalartifacts"),
    "GitRepository": (_SOURCE, "gitrepositories"),
    "HelmChart": (_SOURCE, "helmcharts"),
    "HelmRepository": (_SOURCE, "helmrepositories"),
    "OCIRepository": (_SOURCE, "ocirepositories"),
    "ArtifactGenerator": ("source.extensions.fluxcd.io", "artifactgenerators"),
    "Kustomization": ("kustomize.toolkit.fluxcd.io", "kustomizations"),
    "HelmRelease": ("helm.toolkit.fluxcd.io", "helmreleases"),
    "ImagePolicy": (_IMAGE, "imagepolicies"),
    "ImageRepository": (_IMAGE, "imagerepositories"),
    "ImageUpdateAutomation": (_IMAGE, "imageupdateautomations"),
    "Alert": (_NOTIFICATION, "alerts"),
    "Provider": (_NOTIFICATION, "providers"),
    "Receiver": (_NOTIFICATION, "receivers"),
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
