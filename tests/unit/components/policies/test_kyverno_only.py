"""What Kyverno alone can have: as much of it as the configuration asks for, each in its own mode."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sample_stack import flux_config

from components.policies.config import PoliciesConfig, PolicyMode
from components.policies.image_signatures import flux_images, tenant_images
from components.policies.kyverno_only import kyverno_only, kyverno_rules
from components.policies.onboarding import background_rules, onboarding
from components.tenant.config import TenancyConfig

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


def made(**policies):
    return kyverno_only(PoliciesConfig.model_validate(policies), TENANCY, FLUX, RELEASE)


def flux(mode=ENFORCE):
    return [flux_images([FLUX_IMAGE], mode)]


def tenants(mode=ENFORCE):
    images = PoliciesConfig.model_validate(ALL).images
    return [tenant_images(images.signatures, images.registries, mode)]


def labels(mode=ENFORCE):
    return onboarding(TENANCY, FLUX, mode)


def test_what_nobody_asks_for_is_not_there():
    assert made(engine="both") == []


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"fluxImages": True}, flux()),
        ({"images": IMAGES}, tenants()),
        ({"onboarding": True}, labels()),
        (ALL, flux() + tenants() + labels()),
    ],
)
def test_each_comes_with_its_setting(asked, expected):
    assert made(**asked) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("flux-images", flux(AUDIT) + tenants() + labels()),
        ("tenant-images", flux() + tenants(AUDIT) + labels()),
        ("onboarding", flux() + tenants() + labels(AUDIT)),
    ],
)
def test_each_has_a_mode_of_its_own(policy, expected):
    assert made(**ALL, modes={policy: "audit"}) == expected
    assert expected != made(**ALL)


def test_the_mode_of_all_is_theirs_too():
    assert made(**ALL, mode="audit") == flux(AUDIT) + tenants(AUDIT) + labels(AUDIT)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("flux-images", tenants() + labels()),
        ("tenant-images", flux() + labels()),
        ("onboarding", flux() + tenants()),
    ],
)
def test_one_that_is_off_is_left_out(policy, expected):
    assert made(**ALL, modes={policy: "off"}) == expected


@pytest.mark.parametrize("without", [{"onboarding": False}, {"modes": {"onboarding": "off"}}])
def test_kyverno_gets_rights_in_the_background_while_it_onboards(without):
    def rules(**policies):
        return kyverno_rules(PoliciesConfig.model_validate(ALL | policies), FLUX)

    assert rules() == rules(modes={"onboarding": "audit"}) == background_rules(FLUX)
    assert rules(**without) == []
