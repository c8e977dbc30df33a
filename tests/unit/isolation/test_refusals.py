"""The refusing layer, found in messages of real API servers and webhooks."""

from __future__ import annotations

import pytest

from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.refusals import is_about_impersonation, refusal

SEEN = [
    (403, 'pods is forbidden: User "a" cannot create resource "pods" in API group ""', Layer.ROLE, "RBAC"),
    (403, 'namespaces "apps" is forbidden: User "a" cannot patch resource "namespaces"', Layer.ROLE, "RBAC"),
    (
        403,
        'rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "a" (groups=["b"]) is attempting to grant RBAC '
        "permissions not currently held: {}",
        Layer.ROLE,
        "RBAC's escalation check",
    ),
    (
        403,
        'pods "x" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)',
        Layer.POD_SECURITY,
        "restricted:latest",
    ),
    (
        422,
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'host-access' with binding 'b' denied request",
        Layer.ADMISSION,
        "host-access",
    ),
    (
        403,
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: Policy flux-tenancy-a failed: no',
        Layer.ADMISSION,
        "flux-tenancy-a",
    ),
    (
        400,
        'admission webhook "validate.kyverno.svc-fail" denied the request: resource Kustomization/apps/x was blocked '
        "due to the following policies flux-multi-tenancy: serviceAccountName: validation error: no",
        Layer.ADMISSION,
        "flux-multi-tenancy",
    ),
    (403, 'admission webhook "a.example.com" denied the request: no', Layer.ADMISSION, "a.example.com"),
    (403, 'services "x" is forbidden: exceeded quota: dev-team-quota, requested: a=1', Layer.QUOTA, "dev-team-quota"),
    (403, 'pods "x" is forbidden: failed quota: q: must specify limits.cpu', Layer.QUOTA, "q"),
    (403, 'pods "x" is forbidden: [maximum memory usage per Container is 1Gi', Layer.QUOTA, "LimitRange"),
    (403, 'pods "x" is forbidden: cannot set blockOwnerDeletion', Layer.ADMISSION, "an admission plugin"),
]


@pytest.mark.parametrize(("status", "message", "layer", "by"), SEEN)
def test_a_refusal_names_its_layer(status, message, layer, by):
    found = refusal(status, message)

    assert (found.layer, found.by) == (layer, by)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, 'Internal error occurred: failed calling webhook "a": connection refused'),
        (400, 'admission webhook "a" does not support dry run'),
        (404, 'pods "x" not found'),
        (422, 'Pod "x" is invalid: spec.containers: Required value'),
        (429, "too many requests"),
    ],
)
def test_other_errors_prove_nothing(status, message):
    assert refusal(status, message).layer is None


def test_a_tenants_own_text_is_not_taken_for_a_layer():
    """The beginning is the API server's; what a policy quotes of the object comes after it."""
    quoted = (
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: "
        'x is forbidden: User "a" cannot create, exceeded quota: b'
    )

    assert refusal(403, quoted).by == "a"


def test_a_refused_impersonation_is_not_taken_for_a_refused_attempt():
    assert is_about_impersonation('users "a" is forbidden: User "me" cannot impersonate resource "users"')
    assert not is_about_impersonation('pods is forbidden: User "me" cannot create resource "pods"')
