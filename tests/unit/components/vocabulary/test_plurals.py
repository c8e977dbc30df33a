"""The names of kinds in the API."""

import pytest

from flux_tenancy.components.plan import counted_as
from flux_tenancy.components.tenant.role import FLUX_KINDS
from flux_tenancy.components.vocabulary.manifests import plural_of
from flux_tenancy.isolation.scene import RESOURCES


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        *((kind, resource) for kind, (_, resource) in {**RESOURCES, **FLUX_KINDS}.items()),
        ("Endpoints", "endpoints"),
        ("IngressClass", "ingressclasses"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        ("ClusterPolicy", "clusterpolicies"),
    ],
)
def test_each_kind_has_the_plural_that_the_api_has(kind, plural):
    assert plural_of(kind) == plural


def test_a_quota_counts_a_kind_by_its_plural():
    assert counted_as({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}) == "count/ingresses.networking.k8s.io"
