"""Signatures of container images, as Kyverno's ImageValidatingPolicies: Flux's own images, and those of tenants.

Kyverno first puts the digest in place of a Pod's tag, which the registry may give to another image at any time, and
then looks for a signature of that digest. Only Pods are looked at: they are what runs, whoever made them, and what
Flux applies stays as it is in Git. A container that the kubelet restarts makes no request, so a registry that is down
stops no Pod that was admitted before.

Source: https://kyverno.io/docs/policy-types/image-validating-policy/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.allowlists.cel import text
from components.allowlists.image_patterns import DEFAULT_REGISTRY, read_image_pattern, repository_of
from components.cluster.manifests import Manifest
from components.policies.config import PolicyMode
from components.policies.image_signatures_config import ImageSignature, KeylessSigner, RegistryAccess
from components.policies.kyverno import KYVERNO_API
from components.policies.names import PolicyName
from components.policies.policy import SPEC
from components.policies.rendering import ACTIONS, TENANT_NAMESPACES, changes, object_name
from components.sync.names import FLUX_NAMESPACE

# The controllers are released by a workflow that all of their repositories call, so the certificate names that one:
# `.github/workflows/release.yaml` of each controller since Flux 2.9, and `cosign sign` in the workflow that it uses.
# Source: https://github.com/fluxcd/gha-workflows and https://fluxcd.io/flux/security/#signed-container-images
FLUX_SIGNER = KeylessSigner.model_validate(
    {
        "issuer": "https://token.actions.githubusercontent.com",
        "subjectRegExp": r"https://github\.com/fluxcd/gha-workflows/\.github/workflows/controller-release\.yaml"
        r"@refs/tags/v[0-9]+\.[0-9]+\.[0-9]+",
    }
)
# The most that Kubernetes allows; the registry is asked several times for each image, and may be far away.
_TIMEOUT_SECONDS = 30
# How Kyverno reads image names: https://pkg.go.dev/github.com/google/go-containerregistry/pkg/name
_KYVERNO_NAMES = {DEFAULT_REGISTRY: "index.docker.io", "localhost": "index.docker.io/localhost"}
_NO_LOG = {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}
_ALL_IMAGES = "(images.containers + images.initContainers + images.ephemeralContainers)"


def tenant_images(signatures: Sequence[ImageSignature], registries: RegistryAccess, mode: PolicyMode) -> Manifest:
    """The policy for the images of all tenants' Pods.

    It fails closed: a tenant who brings Kyverno down gets no Pods, and no unsigned ones.
    """
    return _policy(
        PolicyName.TENANT_IMAGES,
        signatures,
        mode,
        namespaces=TENANT_NAMESPACES,
        failure_policy="Fail",
        credentials=_credentials(registries),
        remedy="sign it by its digest with `cosign sign` as one of those that policies.images.signatures names",
    )


def flux_images(images: Sequence[str], mode: PolicyMode) -> Manifest:
    """The policy for Flux's own controllers.

    Nobody but the platform makes Pods beside them, so there is no one to bring Kyverno down for that, and a Kyverno
    that is down must not keep Flux from coming up.

    Args:
        images: images of the release that is installed.
        mode: what becomes of a Pod whose image is not signed, or whose signature cannot be read.
    """
    repositories = sorted({repository_of(image) for image in images})
    return _policy(
        PolicyName.FLUX_IMAGES,
        [ImageSignature(images=tuple(repositories), keyless=FLUX_SIGNER)],
        mode,
        namespaces={"matchLabels": {"kubernetes.io/metadata.name": FLUX_NAMESPACE}},
        failure_policy="Ignore",
        credentials={},
        remedy="take the image of the release, or look into why its registry has another one",
    )


def _policy(
    name: PolicyName,
    signatures: Sequence[ImageSignature],
    mode: PolicyMode,
    *,
    namespaces: Manifest,
    failure_policy: str,
    credentials: Manifest,
    remedy: str,
) -> Manifest:
    signers = {f"signer{index}": signature for index, signature in enumerate(signatures)}
    return {
        "apiVersion": KYVERNO_API,
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": object_name(name)},
        "spec": {
            "failurePolicy": failure_policy,
            "validationActions": list(ACTIONS[mode]),
            "webhookConfiguration": {"timeoutSeconds": _TIMEOUT_SECONDS},
            "autogen": {"podControllers": {"controllers": []}},
            "matchConstraints": {
                "namespaceSelector": namespaces,
                "resourceRules": [_pods("pods", "CREATE", "UPDATE"), _pods("pods/ephemeralcontainers", "UPDATE")],
            },
            "matchConditions": [{"name": "changes-spec", "expression": changes(SPEC)}],
            "matchImageReferences": [{"expression": _named(signature)} for signature in signatures],
            "validationConfigurations": {"mutateDigest": True, "verifyDigest": True, "required": True},
            **credentials,
            "attestors": [{"name": key, "cosign": _cosign(signature)} for key, signature in signers.items()],
            "validations": [_validation(signers, remedy)],
        },
    }


def _pods(resource: str, *operations: str) -> Manifest:
    return {"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": list(operations)}


def _credentials(registries: RegistryAccess) -> Manifest:
    if registries == RegistryAccess():
        return {}
    return {"credentials": {"allowInsecureRegistry": registries.insecure, "secrets": list(registries.secrets)}}


def _cosign(signature: ImageSignature) -> Manifest:
    if signature.keyless is not None:
        return {"keyless": {"identities": [_identity(signature.keyless)]}}
    log: Manifest = {} if signature.transparency_log else {"ctlog": _NO_LOG}
    return {"key": {"data": signature.key}, **log}


def _identity(signer: KeylessSigner) -> Manifest:
    if signer.subject is not None:
        return {"issuer": signer.issuer, "subject": signer.subject}
    # Looked for anywhere in the identity unless it is anchored.
    return {"issuer": signer.issuer, "subjectRegExp": f"^(?:{signer.subject_reg_exp})$"}


def _validation(signers: Mapping[str, ImageSignature], remedy: str) -> Manifest:
    signed = " || ".join(
        f"({_named(signature)} && verifyImageSignatures(ref, [attestors.{key}]) > 0)"
        for key, signature in signers.items()
    )
    return {
        "expression": f"{_ALL_IMAGES}.all(ref, {signed})",
        "messageExpression": f"'not signed: ' + {_ALL_IMAGES}.filter(ref, !({signed})).join(', ') + "
        f"{text(f'; {remedy}')}",
    }


def _named(signature: ImageSignature) -> str:
    """CEL for whether an entry names the image `ref`."""
    return f"({' || '.join(map(_is_named, signature.images))})"


def _is_named(pattern_text: str) -> str:
    pattern = read_image_pattern(pattern_text)
    registry, _, path = pattern.repository.partition("/")
    registry, _, above = _KYVERNO_NAMES.get(registry, registry).partition("/")
    path = "/".join(filter(None, (above, path)))
    same = f"image(ref).registry() == {text(registry)}"
    if pattern.below:
        return f"({same} && image(ref).repository().startsWith({text(path + '/' if path else '')}))"
    return f"({same} && image(ref).repository() == {text(path)})"
