"""What Kyverno alone can have: as much of it as the configuration asks for, each in its own mode."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sample_stack import flux_config

from flux_tenancy.components.policies.config import MaximumSizes, PoliciesConfig, PolicyMode
from flux_tenancy.components.policies.kyverno_only import (
    background_rules,
    flux_images,
    kyverno_only,
    kyverno_rules,
    onboarding,
    tenant_images,
)
from flux_tenancy.components.tenant.config import TenancyConfig

KEY = ec.generate_private_key(ec.SECP256R1()).public_key()
SIGNATURE = {
    "images": ["registry.example.com/org/*"],
    "key": KEY.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
}
IMAGES = {"allowed": ["registry.example.com/org/*"], "signatures": [SIGNATURE], "registries": {"secrets": ["login"]}}
ALL = {"engine": "both", "fluxImages": True, "images": IMAGES, "onboarding": True}
FLUX_IMAGE = "registry.example.com/fluxcd/source-controller:v1.9.5"
CONTAINERS = [{"name": "manager", "image": FLUX_IMAGE}]
RELEASE = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "source-controller", "namespace": "flux-system"},
        "spec": {"template": {"spec": {"containers": CONTAINERS}}},
    },
]
TENANCY = TenancyConfig.model_validate({"limits": {"fluxObjects": 3}})
FLUX = flux_config()
ENFORCE, AUDIT = PolicyMode.ENFORCE, PolicyMode.AUDIT
SIZES = MaximumSizes()


def made(**policies):
    return kyverno_only(PoliciesConfig.model_validate(policies), TENANCY, FLUX, RELEASE)


def flux(mode=ENFORCE):
    return [flux_images([FLUX_IMAGE], mode)]


def tenants(mode=ENFORCE, above=SIZES):
    images = PoliciesConfig.model_validate(ALL).images
    return [tenant_images(images.signatures, images.registries, mode, above)]


def labels():
    return onboarding(TENANCY, FLUX)


@pytest.mark.parametrize(("mode", "conditions"), [("enforce", 2), ("audit", 1), ("off", 1)])
def test_kyverno_reads_no_pod_that_kubernetes_refuses_for_its_size(mode, conditions):
    """A mutating webhook is called before Kubernetes' own policies; a pod that these let pass needs a signature."""
    [policy] = made(engine="both", images=IMAGES, modes={"pod-size": mode})

    found = [each["expression"] for each in policy["spec"]["matchConditions"]]
    assert len(found) == conditions
    assert all("<= 30 && size(object.spec.?volumes.orValue([])) <= 61" in each for each in found[1:])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"engine": "both"}, []),
        ({"fluxImages": True}, flux()),
        ({"images": IMAGES}, tenants()),
        ({"onboarding": True}, labels()),
        (ALL, flux() + tenants() + labels()),
        (ALL | {"modes": {"flux-images": "audit"}}, flux(AUDIT) + tenants() + labels()),
        (ALL | {"modes": {"tenant-images": "audit"}}, flux() + tenants(AUDIT) + labels()),
        (ALL | {"mode": "audit"}, flux(AUDIT) + tenants(AUDIT, above=None) + labels()),
        (ALL | {"modes": {"flux-images": "off"}}, tenants() + labels()),
        (ALL | {"modes": {"tenant-images": "off"}}, flux() + labels()),
        (ALL | {"modes": {"onboarding": "off"}}, flux() + tenants()),
    ],
)
def test_each_policy_has_a_setting_and_a_mode(asked, expected):
    assert made(**asked) == expected
    assert flux(AUDIT) != flux() and tenants(AUDIT) != tenants()


@pytest.mark.parametrize("without", [{"onboarding": False}, {"modes": {"onboarding": "off"}}])
def test_kyvernos_background_controller_gets_rights_for_onboarding_only(without):
    def rules(**policies):
        return kyverno_rules(PoliciesConfig.model_validate(ALL | policies), FLUX)

    assert rules() == rules(modes={"onboarding": "audit"}) == background_rules(FLUX)
    assert rules(**without) == []
