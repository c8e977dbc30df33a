"""Policies that only Kyverno offers: signatures of container images, as ImageValidatingPolicies, and onboarding.

Kyverno first replaces a Pod's tag with the digest, since a registry may move a tag at any time, and then verifies the
signature of that digest. Only Pods are checked: they are what runs, whoever created them, and workloads that Flux
applies stay as they are in Git. A container restart makes no request, so a registry that is down stops no running Pod.

Source: https://kyverno.io/docs/policy-types/image-validating-policy/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.allowlists.image_patterns import DEFAULT_REGISTRY, read_image_pattern, repository_of
from flux_tenancy.components.installs.flux.release import controller_images
from flux_tenancy.components.keys.signing_keys import KeylessSigner
from flux_tenancy.components.policies.config import (
    ImageSignature,
    MaximumSizes,
    PoliciesConfig,
    PolicyMode,
    RegistryAccess,
)
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.onboarding import background_rules, onboarding
from flux_tenancy.components.policies.policy import SPEC
from flux_tenancy.components.policies.rendering import ACTIONS, KYVERNO_API, TENANT_NAMESPACES, changes, object_name
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.tenant.config import TenancyConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

# All controllers are released by one reusable workflow, so the certificate names that workflow:
# `.github/workflows/release.yaml` of each controller since Flux 2.9 calls it, and it runs `cosign sign`.
# Source: https://github.com/fluxcd/gha-workflows and https://fluxcd.io/flux/security/#signed-container-images
FLUX_SIGNER = KeylessSigner.model_validate(
    {
        "issuer": "https://token.actions.githubusercontent.com",
        "subjectRegExp": r"https://github\.com/fluxcd/gha-workflows/\.github/workflows/controller-release\.yaml"
        r"@refs/tags/v[0-9]+\.[0-9]+\.[0-9]+",
    }
)
# The maximum in Kubernetes; each image needs several requests to a registry that may be far away.
_TIMEOUT_SECONDS = 30
# How Kyverno reads image names: https://pkg.go.dev/github.com/google/go-containerregistry/pkg/name
_KYVERNO_NAMES = {DEFAULT_REGISTRY: "index.docker.io", "localhost": "index.docker.io/localhost"}
_NO_LOG = {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}
# Kyverno finds those of containers by itself. It pins no tag of a volume, so `verifyDigest` requires a digest there.
_VOLUMES = {
    "name": "volumes",
    "expression": "object.spec.?volumes.orValue([]).filter(each, has(each.image)).map(each, each.image.reference)",
}
_ALL_IMAGES = "(images.containers + images.initContainers + images.ephemeralContainers + images.volumes)"


def tenant_images(
    signatures: Sequence[ImageSignature],
    registries: RegistryAccess,
    mode: PolicyMode,
    refused_above: MaximumSizes | None = None,
) -> Manifest:
    """The policy for the images of all tenants' Pods.

    It fails closed: while Kyverno is down, tenants get no new Pods.

    Args:
        mode: what happens to a Pod whose image has no signature that can be verified.
        refused_above: the sizes above which Kubernetes refuses every Pod, so that Kyverno need not read it: a mutating
            webhook would be called before.
    """
    return _policy(
        PolicyName.TENANT_IMAGES,
        signatures,
        mode,
        namespaces=TENANT_NAMESPACES,
        failure_policy="Fail",
        credentials=_credentials(registries),
        remedy="sign it by digest with `cosign sign`, as a signer that policies.images.signatures lists",
        refused_above=refused_above,
    )


def flux_images(images: Sequence[str], mode: PolicyMode) -> Manifest:
    """The policy for Flux's own controllers.

    It fails open: only the platform creates Pods there, and Flux must start even while Kyverno is down.

    Args:
        mode: what happens to a Pod whose image has no signature that can be verified.
    """
    repositories = sorted({repository_of(image) for image in images})
    return _policy(
        PolicyName.FLUX_IMAGES,
        [ImageSignature(images=tuple(repositories), keyless=FLUX_SIGNER)],
        mode,
        namespaces={"matchLabels": {"kubernetes.io/metadata.name": FLUX_NAMESPACE}},
        failure_policy="Ignore",
        credentials={},
        remedy="use the image of the Flux release, or find out why its registry serves another one",
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
    refused_above: MaximumSizes | None = None,
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
            "matchConditions": [{"name": "changes-spec", "expression": changes(SPEC)}, *_small(refused_above)],
            "images": [_VOLUMES],
            "matchImageReferences": [{"expression": _named(signature)} for signature in signatures],
            "validationConfigurations": {"mutateDigest": True, "verifyDigest": True, "required": True},
            **credentials,
            "attestors": [{"name": key, "cosign": _cosign(signature)} for key, signature in signers.items()],
            "validations": [_validation(signers, remedy)],
        },
    }


def _small(refused_above: MaximumSizes | None) -> list[Manifest]:
    """False only for what the policy `pod-size` refuses: it allows a Pod the volume that Kubernetes adds."""
    if refused_above is None:
        return []
    containers = "size(object.spec.containers) + size(object.spec.?initContainers.orValue([]))"
    expression = (
        f"{containers} <= {refused_above.containers} && "
        f"size(object.spec.?volumes.orValue([])) <= {refused_above.volumes + 1}"
    )
    return [{"name": "small", "expression": expression}]


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
    # Cosign matches anywhere in the identity unless the expression is anchored.
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
    """CEL for whether an entry matches the image `ref`."""
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


def kyverno_only(
    config: PoliciesConfig, tenancy: TenancyConfig, flux: FluxConfig, release: Iterable[Manifest]
) -> list[Manifest]:
    """Those that the configuration enables.

    Args:
        tenancy: its `tenancy` section.
        flux: its `flux` section.
    """
    manifests: list[Manifest] = []
    if config.flux_images and (mode := config.mode_of(PolicyName.FLUX_IMAGES)) is not PolicyMode.OFF:
        manifests.append(flux_images(controller_images(release), mode))
    if config.images.signatures and (mode := config.mode_of(PolicyName.TENANT_IMAGES)) is not PolicyMode.OFF:
        enforced = config.mode_of(PolicyName.POD_SIZE) is PolicyMode.ENFORCE
        above = config.maximum_sizes if enforced else None
        manifests.append(tenant_images(config.images.signatures, config.images.registries, mode, above))
    if onboards(config):
        manifests += onboarding(tenancy, flux)
    return manifests


def kyverno_rules(config: PoliciesConfig, flux: FluxConfig) -> list[Manifest]:
    """RBAC rules that Kyverno's background controller needs for them."""
    return background_rules(flux) if onboards(config) else []


def onboards(config: PoliciesConfig) -> bool:
    """Whether a label makes a namespace a tenant's."""
    return config.onboarding and config.mode_of(PolicyName.ONBOARDING) is not PolicyMode.OFF
