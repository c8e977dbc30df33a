"""Policies for signed images, and configurations of them that are refused."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sample_stack import KYVERNO, load, problems, refusals

from flux_tenancy.components.policies.config import ImageSignature, PolicyMode, RegistryAccess
from flux_tenancy.components.policies.kyverno_only import flux_images, tenant_images

PAIR = ec.generate_private_key(ec.SECP256R1())
KEY = PAIR.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
PRIVATE_KEY = PAIR.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
ISSUER = "https://token.actions.githubusercontent.com"
WORKFLOW = r"https://github\.com/org/app/\.github/workflows/release\.yaml@refs/tags/.*"
IMAGES = ["registry.example.com/org/*"]
KEYED = {"images": IMAGES, "key": KEY}
KEYLESS = {"images": IMAGES, "keyless": {"issuer": ISSUER, "subjectRegExp": WORKFLOW}}


def spec(*entries: dict[str, Any], registries: dict[str, Any] | None = None) -> dict[str, Any]:
    signatures = [ImageSignature.model_validate(entry) for entry in entries]
    policy = tenant_images(signatures, RegistryAccess.model_validate(registries or {}), PolicyMode.ENFORCE)
    found: dict[str, Any] = policy["spec"]
    return found


def refused(tmp_path, *entries: dict[str, Any], **policies: Any) -> list[str]:
    """Where the problems of a stack that asks for these signatures are, and their codes."""
    images = {"allowed": IMAGES, "signatures": list(entries)}
    found = refusals(tmp_path, kyverno=KYVERNO, policies={"engine": "both", "images": images, **policies})
    return [each.removeprefix("policies.images.") for each in found]


def test_a_signature_is_looked_up_in_the_transparency_log_unless_disabled():
    assert spec(KEYED)["attestors"] == [{"name": "signer0", "cosign": {"key": {"data": KEY}}}]
    [offline] = spec(KEYED | {"transparencyLog": False})["attestors"]
    assert offline["cosign"]["ctlog"] == {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}


def test_the_whole_identity_must_match():
    [attestor] = spec(KEYLESS)["attestors"]
    identity = {"issuer": ISSUER, "subjectRegExp": f"^(?:{WORKFLOW})$"}
    assert attestor["cosign"] == {"keyless": {"identities": [identity]}}


def test_an_identity_can_be_exact():
    [attestor] = spec(KEYED, {"images": IMAGES, "keyless": {"issuer": ISSUER, "subject": "a@example.com"}})[
        "attestors"
    ][1:]
    assert attestor == {
        "name": "signer1",
        "cosign": {"keyless": {"identities": [{"issuer": ISSUER, "subject": "a@example.com"}]}},
    }


@pytest.mark.parametrize(
    ("pattern", "expression"),
    [
        (
            "registry.example.com/org/*",
            '((image(ref).registry() == "registry.example.com" && image(ref).repository().startsWith("org/")))',
        ),
        (
            "registry.example.com:5000/org/app",
            '((image(ref).registry() == "registry.example.com:5000" && image(ref).repository() == "org/app"))',
        ),
        ("ghcr.io/*", '((image(ref).registry() == "ghcr.io" && image(ref).repository().startsWith("")))'),
        (
            "docker.io/library/nginx",
            '((image(ref).registry() == "index.docker.io" && image(ref).repository() == "library/nginx"))',
        ),
        (
            "localhost/app",
            '((image(ref).registry() == "index.docker.io" && image(ref).repository() == "localhost/app"))',
        ),
    ],
)
def test_images_are_matched_as_kyverno_parses_their_names(pattern: str, expression: str):
    assert spec(KEYED | {"images": [pattern]})["matchImageReferences"] == [{"expression": expression}]


def test_every_pattern_of_an_entry_requires_the_signature():
    [validation] = spec(KEYED | {"images": ["a.example.com/x", "b.example.com/y"]})["validations"]
    [named] = spec(KEYED | {"images": ["a.example.com/x", "b.example.com/y"]})["matchImageReferences"]
    assert named["expression"].startswith("((") and " || " in named["expression"]
    assert f"({named['expression']} && verifyImageSignatures(ref, [attestors.signer0]) > 0)" in validation["expression"]


def test_one_of_several_signers_is_enough():
    [validation] = spec(KEYED, KEYLESS)["validations"]
    assert "[attestors.signer0]) > 0) || (" in validation["expression"]
    assert "policies.images.signatures" in validation["messageExpression"]


def test_only_pods_are_checked_when_their_images_may_have_changed():
    found = spec(KEYED)
    assert [rule["resources"] for rule in found["matchConstraints"]["resourceRules"]] == [
        ["pods"],
        ["pods/ephemeralcontainers"],
    ]
    assert found["matchConstraints"]["resourceRules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert found["autogen"] == {"podControllers": {"controllers": []}}
    assert "object.?spec != oldObject.?spec" in found["matchConditions"][0]["expression"]
    assert found["matchConstraints"]["namespaceSelector"]["matchExpressions"][0]["key"] == "toolkit.fluxcd.io/tenant"


def test_tags_are_pinned_before_verification():
    expected = {"mutateDigest": True, "verifyDigest": True, "required": True}
    assert spec(KEYED)["validationConfigurations"] == expected


def test_credentials_are_rendered_only_if_configured():
    assert "credentials" not in spec(KEYED)
    assert spec(KEYED, registries={"secrets": ["pull"], "insecure": True})["credentials"] == {
        "allowInsecureRegistry": True,
        "secrets": ["pull"],
    }


def test_the_policy_for_flux_fails_open_and_for_tenants_closed():
    images = ["ghcr.io/fluxcd/source-controller:v1.9.5", "ghcr.io/fluxcd/helm-controller:v1.6.4@sha256:" + "0" * 64]
    found = flux_images(images, PolicyMode.AUDIT)["spec"]
    assert (found["failurePolicy"], spec(KEYED)["failurePolicy"]) == ("Ignore", "Fail")
    assert found["validationActions"] == ["Audit", "Warn"]
    assert found["matchConstraints"]["namespaceSelector"] == {
        "matchLabels": {"kubernetes.io/metadata.name": "flux-system"}
    }
    [named] = found["matchImageReferences"]
    assert '"fluxcd/helm-controller"' in named["expression"] and '"fluxcd/source-controller"' in named["expression"]
    [attestor] = found["attestors"]
    [identity] = attestor["cosign"]["keyless"]["identities"]
    assert identity["issuer"] == ISSUER


@pytest.mark.parametrize(
    "entry", [KEYED, KEYLESS, KEYED | {"transparencyLog": False}], ids=["key", "keyless", "offline"]
)
def test_valid_signatures_are_accepted(tmp_path, entry: dict[str, Any]):
    images = {"allowed": IMAGES, "signatures": [entry]}
    stack = load(
        tmp_path,
        kyverno=KYVERNO,
        policies={"engine": "kyverno", "images": images, "fluxImages": True, "onboarding": True},
    )
    assert stack.policies.images.signatures[0].images == tuple(IMAGES)


def keyless(**identity: str) -> dict[str, Any]:
    return {"images": IMAGES, "keyless": {"issuer": ISSUER} | identity}


@pytest.mark.parametrize(
    ("entry", "path", "code"),
    [
        ({"images": IMAGES}, "[0]", "FT-CFG-181"),
        (KEYED | KEYLESS, "[0]", "FT-CFG-181"),
        (KEYLESS | {"transparencyLog": False}, "[0].transparencyLog", "FT-CFG-507"),
        (keyless(), "[0].keyless", "FT-CFG-181"),
        (KEYED | {"images": []}, "[0].images", "FT-CFG-010"),
        # Kyverno matches by RE2, which has neither lookarounds nor backreferences.
        (keyless(subjectRegExp="https://(github"), "[0].keyless.subjectRegExp", "FT-CFG-006"),
        (keyless(subjectRegExp=r"(?!evil)https://.*"), "[0].keyless.subjectRegExp", "FT-CFG-006"),
    ],
)
def test_an_entry_that_is_incomplete_or_that_kyverno_cannot_match_is_refused(tmp_path, entry, path, code):
    assert refused(tmp_path, entry) == [f"signatures{path} {code}"]


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (PRIVATE_KEY, "FT-CFG-720"),
        ("ssh-ed25519 AAAA", "FT-CFG-135"),
        (KEY.replace("\n", "", 2), "FT-CFG-135"),
        (KEY[:60] + KEY[80:], "FT-CFG-135"),
    ],
    ids=["private", "of SSH", "in one line", "cut"],
)
def test_an_invalid_public_key_is_refused_and_not_repeated(tmp_path, key: str, code: str):
    images = {"allowed": IMAGES, "signatures": [{"images": IMAGES, "key": key}]}
    assert refused(tmp_path, {"images": IMAGES, "key": key}) == [f"signatures[0].key {code}"]
    [found] = problems(tmp_path, kyverno=KYVERNO, policies={"engine": "both", "images": images})
    assert key.splitlines()[-2:][0] not in found


def test_native_policies_cannot_verify_signatures(tmp_path):
    found = refused(tmp_path, KEYED, engine="native", fluxImages=True, onboarding=True)
    assert found == [f"{key} FT-CFG-671" for key in ("policies.fluxImages", "signatures", "policies.onboarding")]


def test_signatures_need_an_allow_list_that_covers_all_names(tmp_path):
    assert refused(tmp_path, images={"signatures": [KEYED]}) == ["signatures FT-CFG-672"]
