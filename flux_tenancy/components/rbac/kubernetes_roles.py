"""The roles that every cluster brings itself, in the order of their power, and what they are known to allow.

Reviewers read them by name. The rules serve only to compare them with other roles: a tenant that gets `admin` in place
of the tenant role loses nothing that `admin` has, too.

Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go of Kubernetes 1.36
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from flux_tenancy.components.vocabulary.manifests import RBAC

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")


class KubernetesRole(StrEnum):
    """A user-facing ClusterRole of Kubernetes, from the weakest to the most powerful; each has the rights of those
    before it."""

    VIEW = "view"
    EDIT = "edit"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


POWER: Mapping[str, int] = {role.value: power for power, role in enumerate(KubernetesRole)}
"""The power of each role: higher is more."""

AGGREGATE_LABEL = f"{RBAC}/aggregate-to-"
"""The prefix of the labels of ClusterRoles that Kubernetes adds to `view`, `edit` or `admin`."""

# API group, resources and verbs of each rule.
_APPS = "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"
_VIEW = (
    (
        "",
        "configmaps endpoints events limitranges namespaces persistentvolumeclaims persistentvolumeclaims/status pods"
        " pods/log pods/status replicationcontrollers replicationcontrollers/scale replicationcontrollers/status"
        " resourcequotas resourcequotas/status serviceaccounts services services/status",
        READ,
    ),
    ("discovery.k8s.io", "endpointslices", READ),
    ("events.k8s.io", "events", READ),
    ("apps", f"controllerrevisions {_APPS}", READ),
    ("autoscaling", "horizontalpodautoscalers", READ),
    ("batch", "cronjobs jobs", READ),
    ("networking.k8s.io", "ingresses networkpolicies", READ),
    ("policy", "poddisruptionbudgets", READ),
)
_EDIT = (
    # An eviction can only be created; other verbs allow nothing.
    ("", "pods/attach pods/eviction pods/exec pods/portforward pods/proxy secrets services/proxy", (*READ, *WRITE)),
    (
        "",
        "configmaps events persistentvolumeclaims pods replicationcontrollers replicationcontrollers/scale"
        " serviceaccounts services",
        WRITE,
    ),
    ("", "serviceaccounts", ("impersonate",)),
    ("", "serviceaccounts/token", ("create",)),
    ("events.k8s.io", "events", WRITE),
    ("apps", _APPS, WRITE),
    ("autoscaling", "horizontalpodautoscalers", WRITE),
    ("batch", "cronjobs jobs", WRITE),
    ("coordination.k8s.io", "leases", (*READ, *WRITE)),
    ("networking.k8s.io", "ingresses networkpolicies", WRITE),
    ("policy", "poddisruptionbudgets", WRITE),
)
_ADMIN = (
    ("authorization.k8s.io", "localsubjectaccessreviews", ("create",)),
    (RBAC, "rolebindings roles", (*READ, *WRITE)),
)

KNOWN: Mapping[str, frozenset[tuple[str, str, str]]] = {
    name: frozenset(
        (verb, group, resource) for group, resources, verbs in rules for resource in resources.split() for verb in verbs
    )
    for name, rules in (
        (KubernetesRole.VIEW, _VIEW),
        (KubernetesRole.EDIT, (*_VIEW, *_EDIT)),
        (KubernetesRole.ADMIN, (*_VIEW, *_EDIT, *_ADMIN)),
    )
}
"""The verbs on groups and resources that the roles allow in the namespaces that they are bound in; `cluster-admin`
allows everything."""
