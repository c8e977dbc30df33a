"""Kyverno's own policies, validated with the schemas of the release that the lab runs.

What a keyless signature is asked for cannot be tried without Sigstore's public log, so this is what holds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jsonschema import Draft202012Validator

from dev.lab.go_command import Go
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.flux.release import controller_images
from flux_tenancy.components.policies.config import ImageSignature, PolicyMode, RegistryAccess
from flux_tenancy.components.policies.kyverno_only import FLUX_SIGNER, flux_images, onboarding, tenant_images
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.offline_requests import tool
from tests.support.releases import FLUX_BUNDLE, FLUX_VERSION
from tests.support.schemas import kyverno_policies

CHECKOUT = Path(__file__).parents[2]
KEY = ec.generate_private_key(ec.SECP256R1()).public_key()
PUBLIC_KEY = KEY.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
KEYLESS = {"issuer": "https://accounts.example.com", "subject": "a@example.com"}
IMAGES = ["registry.example.com/org/*"]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Draft202012Validator]:
    return kyverno_policies(CHECKOUT, tmp_path_factory.mktemp("go"))


@pytest.fixture(scope="module")
def images() -> list[str]:
    """The images of all of Flux's controllers, as the release names them."""
    return controller_images(yaml.load_all(tool(FLUX_BUNDLE).read_text(), yaml.CSafeLoader))


def test_the_policy_for_tenants_images_matches_the_releases_schema(policies: dict[str, Draft202012Validator]) -> None:
    entries: list[dict[str, Any]] = [
        {"images": IMAGES, "key": PUBLIC_KEY},
        {"images": IMAGES, "key": PUBLIC_KEY, "transparencyLog": False},
        {"images": IMAGES, "keyless": KEYLESS},
    ]
    signatures = [ImageSignature.model_validate(entry) for entry in entries]
    registries = RegistryAccess.model_validate({"secrets": ["registry"], "insecure": True})

    policies["ImageValidatingPolicy"].validate(tenant_images(signatures, registries, PolicyMode.ENFORCE)["spec"])


def test_the_policy_for_fluxs_images_matches_the_releases_schema(
    policies: dict[str, Draft202012Validator], images: list[str]
) -> None:
    spec = flux_images(images, PolicyMode.ENFORCE)["spec"]

    policies["ImageValidatingPolicy"].validate(spec)
    [named] = spec["matchImageReferences"]
    for controller in Controller:
        assert f'image(ref).repository() == "fluxcd/{controller}"' in named["expression"]


def test_the_onboarding_policies_match_the_releases_schema(policies: dict[str, Draft202012Validator]) -> None:
    for manifest in onboarding(TenancyConfig(), FluxConfig(version=FLUX_VERSION, sha256="0" * 64)):
        policies[manifest["kind"]].validate(manifest["spec"])


def test_an_unknown_field_fails_the_schema(policies: dict[str, Draft202012Validator]) -> None:
    spec = tenant_images([], RegistryAccess(), PolicyMode.ENFORCE)["spec"]

    assert not policies["ImageValidatingPolicy"].is_valid(spec | {"images": "all"})
    assert not policies["ImageValidatingPolicy"].is_valid(spec | {"signers": []})


def test_fluxs_signer_is_the_release_workflow_of_the_pinned_controllers(tmp_path: Path) -> None:
    """The certificate names the reusable workflow at the tag that the release workflow of each controller uses.

    Source: https://docs.github.com/actions/reference/openid-connect-reference, `job_workflow_ref`.
    """
    pinned = [f"github.com/fluxcd/{name}" for name in ("helm-controller", "kustomize-controller", "source-controller")]
    modules = Go(tmp_path, tmp_path).download(CHECKOUT / "dev" / "lab" / "tools" / "flux", pinned)
    pattern = Draft202012Validator({"type": "string", "pattern": f"^(?:{FLUX_SIGNER.subject_reg_exp})$"})

    for module in modules:
        workflow = yaml.safe_load(Path(module["Dir"], ".github", "workflows", "release.yaml").read_text())
        path, _, tag = workflow["jobs"]["release"]["uses"].partition("@")
        pattern.validate(f"https://github.com/{path}@refs/tags/{tag}")
    assert not pattern.is_valid("https://github.com/fluxcd/gha-workflows/.github/workflows/scan.yaml@refs/tags/v0.11.0")
    assert not pattern.is_valid(
        "https://github.com/fluxcd/gha-workflows/.github/workflows/controller-release.yaml@refs/heads/main"
    )
