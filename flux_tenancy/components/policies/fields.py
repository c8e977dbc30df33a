"""The policy about the fields that tenants may set in Flux's objects: those that are listed, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import ASK
from flux_tenancy.components.tenant.kinds import flux_kinds_by_group

_FETCHED = ("interval", "provider", "secretRef", "suspend", "timeout")
_APPLIED = (
    "commonMetadata",
    "dependsOn",
    "healthCheckExprs",
    "interval",
    "kubeConfig",
    "serviceAccountName",
    "suspend",
    "targetNamespace",
    "timeout",
)

FIELDS: Mapping[str, tuple[str, ...]] = {
    "Bucket": (
        *_FETCHED,
        *("bucketName", "certSecretRef", "endpoint", "ignore", "insecure", "prefix", "proxySecretRef", "region"),
        *("serviceAccountName", "sts"),
    ),
    "GitRepository": (
        *_FETCHED,
        *("ignore", "include", "proxySecretRef", "recurseSubmodules", "ref", "serviceAccountName", "sparseCheckout"),
        *("url", "verify"),
    ),
    "HelmChart": (
        *("chart", "ignoreMissingValuesFiles", "interval", "reconcileStrategy", "sourceRef", "suspend", "valuesFiles"),
        *("verify", "version"),
    ),
    "HelmRepository": (*_FETCHED, "certSecretRef", "insecure", "passCredentials", "type", "url"),
    "OCIRepository": (
        *_FETCHED,
        *("certSecretRef", "ignore", "insecure", "layerSelector", "proxySecretRef", "ref", "serviceAccountName"),
        *("url", "verify"),
    ),
    "ArtifactGenerator": ("artifacts", "commonMetadata", "pathPattern", "sources"),
    "Kustomization": (
        *_APPLIED,
        *("buildMetadata", "components", "decryption", "deletionPolicy", "force", "healthChecks", "ignore"),
        *("ignoreMissingComponents", "images", "namePrefix", "nameSuffix", "patches", "path", "postBuild", "prune"),
        *("retryInterval", "sourceRef", "wait"),
    ),
    "HelmRelease": (
        *_APPLIED,
        *("chart", "chartRef", "driftDetection", "install", "maxHistory", "persistentClient", "postRenderStrategy"),
        *("postRenderers", "releaseName", "rollback", "storageNamespace", "test", "uninstall", "upgrade", "values"),
        *("valuesFrom", "waitStrategy"),
    ),
    "Alert": (
        *("eventMetadata", "eventSeverity", "eventSources", "exclusionList", "inclusionList", "providerRef"),
        *("summary", "suspend"),
    ),
    "Provider": (
        *("address", "certSecretRef", "channel", "commitStatusExpr", "interval", "secretRef", "suspend", "timeout"),
        *("type", "username"),
    ),
    "Receiver": (
        *("events", "interval", "oidcProviders", "resourceFilter", "resources", "secretRef", "suspend", "type"),
    ),
    "ImagePolicy": ("digestReflectionPolicy", "filterTags", "imageRepositoryRef", "interval", "policy", "suspend"),
    "ImageRepository": (
        *_FETCHED,
        *("certSecretRef", "exclusionList", "image", "insecure", "proxySecretRef", "serviceAccountName"),
    ),
    "ImageUpdateAutomation": ("git", "interval", "policySelector", "sourceRef", "suspend", "update"),
}
"""The fields of `spec` that tenants may set, by kind; other policies check their values.

Source: the CustomResourceDefinitions of Flux 2.9. A field that a later version adds is closed until it is listed.
"""

BELOW: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ArtifactGenerator": {
        "artifacts[]": ("copy", "name", "originRevision", "revision"),
        "sources[]": ("alias", "kind", "name", "namespace"),
    },
    "HelmRelease": {
        "chart": ("metadata", "spec"),
        "chart.spec": (
            *("chart", "ignoreMissingValuesFiles", "interval", "reconcileStrategy", "sourceRef", "valuesFiles"),
            *("verify", "version"),
        ),
    },
}
"""The fields that a part of `spec` may have, by kind and path, where one could leave the namespace or name a source.

Since Flux 2.10, an artifact can have a namespace, which source-watcher writes to, and the chart of a HelmRelease can be
an OCIRepository with its URL and login, which helm-controller creates as itself.
Source: artifactgenerator_types.go of github.com/fluxcd/source-watcher/api/v2 2.3.1, and helmrelease_types.go of
github.com/fluxcd/helm-controller/api 1.7.1
"""


def unlisted_fields(kind: str, spec: Mapping[str, Any]) -> list[str]:
    """The paths in `spec` that the policy refuses to a tenant."""
    found = [name for name in spec if name not in FIELDS[kind]]
    for path, names in BELOW.get(kind, {}).items():
        part: Any = spec
        for step in path.removesuffix("[]").split("."):
            part = part.get(step) or {}
        items = part if path.endswith("[]") else [part]
        found += [f"{path}.{name}" for item in items for name in item if name not in names]
    return sorted(set(found))


def allowed_fields() -> Policy:
    """Flux's objects have no fields but those that the policies know."""
    listed = ", ".join(f"{text(kind)}: {texts(sorted(names))}" for kind, names in FIELDS.items())
    return Policy(
        name=PolicyName.ALLOWED_FIELDS,
        refuses="fields of Flux's objects that are not listed, such as proxies of Providers, access from other "
        "namespaces, artifacts in other namespaces, addresses of charts, and fields that a later Flux version adds",
        threats=(2, 3, 5, 14, 35, 36),
        subject=Subject.CONTENT,
        resources=tuple(Resources(*each) for each in flux_kinds_by_group()),
        variables={
            "unlisted": f"object.spec.map(key, key).filter(key, !(key in {{{listed}}}[object.kind]))",
        },
        validations=(
            Validation(
                "size(variables.unlisted) == 0",
                concatenated(
                    text("spec has fields that tenants may not set: "),
                    joined("variables.unlisted"),
                    text("; remove them"),
                    ASK,
                ),
                exempts_platform_objects=True,
            ),
            *(_below(kind, path, fields) for kind, parts in BELOW.items() for path, fields in parts.items()),
        ),
    )


def _below(kind: str, path: str, fields: tuple[str, ...]) -> Validation:
    """A part of `spec`, or each item of a list there, has no fields but these."""
    name, unlisted = path.removesuffix("[]"), f"key, !(key in {texts(fields)})"
    part = f"object.spec.?{name.replace('.', '.?')}"
    items = f"{part}.orValue([])" if name != path else f"[{part}.orValue({{}})]"
    return Validation(
        f"object.kind != {text(kind)} || !{items}.exists(each, each.exists({unlisted}))",
        concatenated(
            text(f"spec.{path} has fields that tenants may not set: "),
            joined(f"{items}.map(each, each.map(key, key).filter({unlisted}).join(', ')).filter(keys, keys != '')"),
            text("; remove them"),
            ASK,
        ),
        exempts_platform_objects=True,
    )
