"""Policies that only Kyverno offers: signatures of container images, and onboarding by label.

Signatures are checked by ImageValidatingPolicies. Kyverno first replaces a Pod's tag with the digest, since a registry
may move a tag at any time, and then verifies the signature of that digest. Only Pods are checked: they are what runs,
whoever created them, and workloads that Flux applies stay as they are in Git. A container restart makes no request, so
a registry that is down stops no running Pod.

Onboarding is what a namespace gets when the platform labels it for a tenant. The functions that make the objects of a
tenant that the stack lists make these as well; here names are Kyverno's placeholders. Namespaces of listed tenants have
a label of their own and are left to Pulumi.

Source: https://kyverno.io/docs/policy-types/image-validating-policy/,
https://kyverno.io/docs/policy-types/generating-policy/ and https://kyverno.io/docs/policy-types/mutating-policy/
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.entries import DEFAULT_REGISTRY, read_image_pattern, repository_of, text
from flux_tenancy.components.installs.flux.controller_rights import SHARED_IMPERSONATION, serving_roles, shared_bindings
from flux_tenancy.components.installs.flux.release import controller_images
from flux_tenancy.components.installs.kyverno import NAMESPACE_PLACEHOLDER, TENANT_PLACEHOLDER
from flux_tenancy.components.keys.signing_keys import KeylessSigner
from flux_tenancy.components.policies.config import (
    ImageSignature,
    MaximumSizes,
    PoliciesConfig,
    PolicyMode,
    RegistryAccess,
)
from flux_tenancy.components.policies.native_only import TENANT_NAME, is_free
from flux_tenancy.components.policies.policy import SPEC, PolicyName
from flux_tenancy.components.policies.rendering import ACTIONS, KYVERNO_API, TENANT_NAMESPACES, changes, object_name
from flux_tenancy.components.tenant.annotations import NAMESPACES, account_annotations
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.identity import role_binding, service_account
from flux_tenancy.components.tenant.limits import ROOM_AT_HOME, limiting_objects
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.tenant.network import TenantNetwork
from flux_tenancy.components.tenant.role import RECEIVER, TENANT_ROLE, Role
from flux_tenancy.components.tenant.scope import service_account_name, tenant_meta
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig


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


_NAMESPACES: Manifest = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"], "operations": ["CREATE", "UPDATE"]}
    ]
}
_LABELLED = (
    f"has(object.metadata.labels) && {text(TENANT_LABEL)} in object.metadata.labels && "
    f"(!({text(MANAGED_BY_LABEL)} in object.metadata.labels) || "
    f"object.metadata.labels[{text(MANAGED_BY_LABEL)}] != {text(MANAGER)})"
)


def onboarding(tenancy: TenancyConfig, flux: FluxConfig) -> list[Manifest]:
    """The policies; Kyverno's background controller needs `background_rules` for them."""
    return [_settings(tenancy, flux), _objects(tenancy, flux)]


def background_rules(flux: FluxConfig) -> list[Manifest]:
    """RBAC rules that Kyverno's background controller needs; it may bind only the roles that tenants need."""
    impersonated = [SHARED_IMPERSONATION, *(role["metadata"]["name"] for role in serving_roles(flux))]
    change = ["create", "delete", "get", "list", "patch", "update", "watch"]
    return [
        {"apiGroups": [""], "resources": ["limitranges", "resourcequotas", "serviceaccounts"], "verbs": change},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": change},
        {"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": change},
        {
            "apiGroups": [RBAC],
            "resources": ["clusterroles"],
            "resourceNames": [TENANT_ROLE, *(impersonated if flux.impersonates else [])],
            "verbs": ["bind"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
    ]


def _settings(tenancy: TenancyConfig, flux: FluxConfig) -> Manifest:
    """Sets the labels and annotations of a listed tenant's namespace, unless the platform has set others."""
    labels = {
        key: f"object.metadata.labels[?{text(key)}].orValue({text(value)})"
        for key, value in pod_security_labels(PodSecurity.RESTRICTED).items()
    }
    annotations = {NAMESPACES: f"object.metadata.?annotations[?{text(NAMESPACES)}].orValue(object.metadata.name)"}
    if account := tenancy.service_account_name:
        # Only the namespace shows whether this is the tenant's own name, so it is always set.
        annotations |= {
            key: text(value) for key, value in account_annotations("", account, flux.default_service_account).items()
        }
    expression = f"Object{{metadata: Object.metadata{{labels: {_map(labels)}, annotations: {_map(annotations)}}}}}"
    return _onboarding(
        "MutatingPolicy",
        {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "matchConditions": [{"name": "labelled", "expression": _LABELLED}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        },
    )


def _objects(tenancy: TenancyConfig, flux: FluxConfig) -> Manifest:
    """Generates the objects and keeps them in sync.

    They outlive the policy, so that running tenants keep their limits, and go with the label, which is how a namespace
    is taken back.
    """
    return _onboarding(
        "GeneratingPolicy",
        {
            "evaluation": {
                "generateExisting": {"enabled": True},
                "synchronize": {"enabled": True},
                "orphanDownstreamOnPolicyDelete": {"enabled": True},
            },
            "matchConditions": [
                {"name": "labelled", "expression": _LABELLED},
                {"name": "possible", "expression": f"{is_free(TENANT_NAME)} && {is_free('object.metadata.name')}"},
                # A namespace that is older than these policies first needs a tenant's Pod Security labels.
                {"name": "secured", "expression": _are_set(pod_security_labels(PodSecurity.RESTRICTED))},
            ],
            "variables": [{"name": "tenant", "expression": TENANT_NAME}],
            "generate": [
                {"template": {"interpolate": "cel", "value": json.dumps(manifest, indent=2)}}
                for manifest in _tenant_template(tenancy, flux)
            ],
        },
    )


def _tenant_template(tenancy: TenancyConfig, flux: FluxConfig) -> list[Manifest]:
    """What a labelled namespace gets; its service account has rights in this namespace only."""
    tenant, namespace = TENANT_PLACEHOLDER, NAMESPACE_PLACEHOLDER
    meta, account = tenant_meta(tenant, namespace), service_account_name(tenant, tenancy)
    return [
        service_account(tenant, namespace, account),
        role_binding(tenant, namespace, namespace, Role.TENANT, account),
        *(shared_bindings(meta, flux, receivers=RECEIVER in tenancy.kinds) if flux.impersonates else []),
        *limiting_objects(meta, tenancy.limits, TenantNetwork.DEFAULT_DENY, ROOM_AT_HOME),
    ]


def _onboarding(kind: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": KYVERNO_API,
        "kind": kind,
        "metadata": {"name": object_name(PolicyName.ONBOARDING)},
        "spec": {"matchConstraints": _NAMESPACES, **spec},
    }


def _are_set(labels: Manifest) -> str:
    return " && ".join(f"{text(key)} in object.metadata.labels" for key in labels)


def _map(entries: dict[str, str]) -> str:
    """A CEL map of expressions."""
    return f"{{{', '.join(f'{text(key)}: {value}' for key, value in entries.items())}}}"
