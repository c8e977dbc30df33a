"""Who may preview the stack without being able to change anything: a ClusterRole, and its binding.

The role reads the kinds that the program applies, except for Secrets, and what its checks look at. A preview needs no
right to write: the provider compares a resource's inputs with the state, and where the API server refuses the dry run
of an apply, it shows the inputs instead of the result.

Source: `Create` and `Update` in provider/pkg/provider/provider.go of pulumi-kubernetes 4.25, which fall back to the
inputs if a preview's dry run is Forbidden
"""

from __future__ import annotations

from collections.abc import Sequence

from components.cluster.subjects import RBAC, Subject, rbac_subject
from components.vocabulary.manifests import Manifest

PREVIEWER = "flux-tenancy-previewer"
"""Name of the ClusterRole and of its binding."""

_READ = ("get", "list")
# (API group, resources). Discovery, the version and the schemas are open to every authenticated user.
READABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("configmaps", "limitranges", "namespaces", "resourcequotas", "serviceaccounts", "services")),
    (
        "admissionregistration.k8s.io",
        (
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ),
    ),
    ("apiextensions.k8s.io", ("customresourcedefinitions",)),
    ("apps", ("deployments",)),
    ("kustomize.toolkit.fluxcd.io", ("kustomizations",)),
    ("networking.k8s.io", ("networkpolicies",)),
    ("notification.toolkit.fluxcd.io", ("receivers",)),
    (
        "policies.kyverno.io",
        ("generatingpolicies", "imagevalidatingpolicies", "mutatingpolicies", "validatingpolicies"),
    ),
    (RBAC, ("clusterrolebindings", "clusterroles", "rolebindings", "roles")),
    ("source.toolkit.fluxcd.io", ("gitrepositories",)),
)


def previewer_access(previewers: Sequence[Subject]) -> list[Manifest]:
    """The ClusterRole and its binding; nothing for a stack without previewers."""
    if not previewers:
        return []
    role: Manifest = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": PREVIEWER},
        "rules": [
            {"apiGroups": [group], "resources": list(resources), "verbs": list(_READ)} for group, resources in READABLE
        ],
    }
    binding: Manifest = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": PREVIEWER},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": PREVIEWER},
        "subjects": [rbac_subject(each) for each in previewers],
    }
    return [role, binding]
