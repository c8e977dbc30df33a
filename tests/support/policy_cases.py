"""Requests that the tenancy policies check, as data: the user, the request, and whether it is refused.

The API server, Kyverno's command line and a whole cluster get the same table.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dev.lab.control_plane import NODE_NAME
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.sync.notifications import PROVIDER_TYPES
from flux_tenancy.components.tenant.annotations import (
    EXCEPTIONS,
    HOSTS,
    IMAGES,
    IMPLIED_ACCOUNT,
    KINDS,
    LANE,
    NAMESPACES,
    NOTIFICATIONS,
    SERVICE_ACCOUNT,
    SERVICE_TYPES,
    SOURCES,
    VERIFIED,
    WITHOUT_GRANTS,
)
from flux_tenancy.components.tenant.capsule.objects import REPLICATOR
from flux_tenancy.components.tenant.grants import SERVICE_EXPOSURE, ExceptedPolicy
from flux_tenancy.components.tenant.kinds import FLUX_KINDS, resources_of
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANE_LABEL, TENANT_LABEL, Controller, account_of
from tests.support.allow_lists import HOSTS as HOST_ROWS
from tests.support.allow_lists import IMAGES as IMAGE_ROWS
from tests.support.allow_lists import SOURCES as SOURCE_ROWS

Object = dict[str, Any]

TENANT = "dev-team"
APPS, LISTED, BASELINE, PRIVILEGED = "apps", "apps-listed", "apps-baseline", "apps-privileged"
MANY = "apps-many"
"""A namespace with long lists: what is allowed is the last of hundreds."""
NAMED, IMPLIED = "apps-named", "apps-implied"
"""Namespaces whose tenant's service account is called `flux`; Flux takes it where no account is named in the second."""
FOREIGN = "other"
"""A namespace of another tenant."""
CLOSED, OPENED = "apps-closed", "apps-opened"
"""Namespaces of a tenant with no open kinds but those of every tenant, and with a few."""
EXAMPLE = "apps-example"
"""A namespace of a tenant with a list of sources for tests/support/example_fleet.py."""
LANED = "apps-laned"
"""A namespace of a tenant in the lane `batch`."""
GRANTED, NAMED_GRANTS = "apps-granted", "apps-named-grants"
"""Namespaces with exceptions for all objects, and for those of a name."""

_ENFORCE = "pod-security.kubernetes.io/enforce"
_LABELS: dict[str, dict[str, str]] = {
    # Without Pod Security's label, so that it is the policies alone that refuse a pod.
    APPS: {TENANT_LABEL: TENANT},
    LISTED: {TENANT_LABEL: TENANT},
    BASELINE: {TENANT_LABEL: TENANT, _ENFORCE: "baseline"},
    PRIVILEGED: {TENANT_LABEL: TENANT, _ENFORCE: "privileged"},
    MANY: {TENANT_LABEL: TENANT},
    NAMED: {TENANT_LABEL: TENANT},
    IMPLIED: {TENANT_LABEL: TENANT},
    CLOSED: {TENANT_LABEL: TENANT},
    OPENED: {TENANT_LABEL: TENANT},
    EXAMPLE: {TENANT_LABEL: TENANT},
    LANED: {TENANT_LABEL: TENANT},
    GRANTED: {TENANT_LABEL: TENANT},
    NAMED_GRANTS: {TENANT_LABEL: TENANT},
    FOREIGN: {TENANT_LABEL: FOREIGN},
    "default-apps": {},
}
# A namespace for each entry of an allow-list in tests/support/allow_lists.py.
SOURCE_ENTRIES = {
    f"sources-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in SOURCE_ROWS))
}
SOURCE_HOST = next(name for name, entry in SOURCE_ENTRIES.items() if entry.startswith("https://git.example.com/"))
"""A namespace of a tenant whose sources may come from git.example.com."""
_ALL_KINDS = " ".join(resources_of(FLUX_KINDS))
HOST_ENTRIES = {f"hosts-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in HOST_ROWS))}
IMAGE_ENTRIES = {f"images-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in IMAGE_ROWS))}
_ANNOTATIONS: Mapping[str, Mapping[str, str]] = {
    LISTED: {
        SOURCES: "https://git.example.com/dev-team/* oci://registry.example.com/dev-team/app.git https:/*",
        IMAGES: "registry.example.com/dev-team/* docker.io/library/nginx",
        VERIFIED: "GitRepository HelmChart",
        HOSTS: "shop.example.com *.dev.example.com",
    },
    NAMED: {SERVICE_ACCOUNT: "flux"},
    IMPLIED: {SERVICE_ACCOUNT: "flux", IMPLIED_ACCOUNT: "flux"},
    CLOSED: {KINDS: ""},
    EXAMPLE: {
        KINDS: "",
        SOURCES: "https://charts.jetstack.example https://ingress.example.org/charts "
        "oci://registry.example.com/podinfo/*",
    },
    OPENED: {KINDS: "alerts.notification.toolkit.fluxcd.io widgets.example.com helmcharts.source.toolkit.fluxcd.io"},
    LANED: {LANE: "batch"},
    GRANTED: {SERVICE_TYPES: "LoadBalancer NodePort", EXCEPTIONS: " ".join(ExceptedPolicy)},
    NAMED_GRANTS: {EXCEPTIONS: " ".join(f"{policy}/legacy" for policy in ExceptedPolicy)},
    MANY: {
        SOURCES: " ".join(f"https://git.example.com/organisation-{number}/*" for number in range(300)),
        IMAGES: " ".join(f"registry.example.com/organisation-{number}/*" for number in range(300)),
    },
    **{name: {SOURCES: entry} for name, entry in SOURCE_ENTRIES.items()},
    **{name: {NOTIFICATIONS: entry} for name, entry in HOST_ENTRIES.items()},
    **{name: {IMAGES: entry} for name, entry in IMAGE_ENTRIES.items()},
}
NAMESPACE_OBJECTS: Mapping[str, Object] = {
    name: {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": dict(labels),
            "annotations": {NAMESPACES: f"{APPS} {LISTED}", KINDS: _ALL_KINDS} | dict(_ANNOTATIONS.get(name, {})),
        },
    }
    for name, labels in (
        _LABELS | dict.fromkeys((*SOURCE_ENTRIES, *IMAGE_ENTRIES, *HOST_ENTRIES), {TENANT_LABEL: TENANT})
    ).items()
}

CONFIGS: Mapping[str, PoliciesConfig] = {
    "open": PoliciesConfig.model_validate(
        {
            "sources": {"allowed": ["*"]},
            "notifications": {"types": [*PROVIDER_TYPES], "hosts": ["*.com", "*.org", "*.com:4222"]},
        }
    ),
    # What tenants may use is up to the annotations of their namespaces.
    "unlisted": PoliciesConfig.model_validate({"notifications": {"types": ["generic", "slack"]}}),
    "listed": PoliciesConfig.model_validate(
        {
            "sources": {
                "allowed": [
                    "https://git.example.com/org/*",
                    "bucket://storage.example.com/charts",
                    "https://charts.example.com/",
                    "oci://registry.example.com/charts/*",
                    "bucket://storage.googleapis.com/charts",
                ],
                "providers": ["aws", "gcp"],
                "bucketRegions": ["eu-central-1"],
                "plainHttp": True,
                "clientCertificates": True,
                "submodules": True,
                "verified": ["OCIRepository"],
            },
            "images": {"allowed": ["registry.example.com/org/*"], "digests": True},
            "notifications": {
                "types": [*PROVIDER_TYPES],
                "hosts": ["hooks.slack.com", "alertmanager.monitoring.svc:9093"],
                "plainHttp": True,
            },
            "minimumInterval": "5m",
            "maximumTokenLifetime": "1h",
            "maximumTimeout": "30m",
            "serviceTypes": ["ClusterIP", "LoadBalancer", "ExternalName"],
            "serviceAnnotations": ["lb.example.com/*", "service.example.com/size"],
            "loadBalancerClasses": ["example.com/internal"],
            "priorityClasses": ["tenants"],
            "finalizers": ["controllers.example.com/cleanup"],
            "maximumTerminationGracePeriod": "2h",
            "maximumReleaseSize": 256,
            "storageClasses": ["fast"],
            "csiDrivers": ["secrets-store.csi.k8s.io"],
            "volumeTypes": ["nfs"],
            "tolerations": ["tenants"],
            "blockingDisruptionBudgets": True,
            "ingress": {"hosts": ["*.apps.example.com"], "snippets": True},
            # In force without developers, too.
            "modes": {"flux-requests": "enforce"},
        }
    ),
    # In force without lanes, too.
    "lanes": PoliciesConfig.model_validate({"sources": {"allowed": ["*"]}, "modes": {"lane": "enforce"}}),
    "granted": PoliciesConfig.model_validate(
        {
            "sources": {"allowed": ["*"], "verified": ["GitRepository"]},
            "images": {"allowed": ["registry.example.com/org/*"]},
        }
    ),
}
"""The configurations that the cases are about, by name."""
RELAXED: Mapping[str, frozenset[str]] = {
    "granted": frozenset({*ExceptedPolicy, SERVICE_EXPOSURE, PolicyName.SOURCE_OPTIONS})
}
"""The policies that tenants relax, by the name of the configuration."""


class User(StrEnum):
    """Who asks."""

    TENANT = "tenant"
    """The tenant's service account, bound to the tenant role in its namespaces."""
    MEMBER = "member"
    """A person of the tenant, bound to `cluster-admin` in its namespaces."""
    DEVELOPER = "developer"
    """A person of the tenant, bound to the role for developers in its namespaces."""
    PLATFORM = "platform"
    """An administrator of the cluster."""
    PATCHER = "patcher"
    """A controller that may patch, and delete collections, in the whole cluster, and nothing else."""
    NODE = "node"
    """The kubelet of a node: what the Node authorizer gives it is not the same right in the whole cluster."""
    CONTROLLER = "controller"
    """Kubernetes' own controller of StatefulSets."""
    MAKER = "maker"
    """The service account of a tenant that makes namespaces, with what Capsule lets it do (`capsule_cases`)."""
    SCHEDULER = "scheduler"
    """Kubernetes' own scheduler."""


@dataclass(frozen=True)
class Case:
    """One request.

    Attributes:
        policy: whose case it is.
        name: what is tried.
        operation: CREATE, UPDATE or DELETE.
        object: what is created; the change, as a merge patch, that an UPDATE makes.
        old: what is there before an UPDATE or a DELETE.
        refused: a part of the message by which the policy refuses it; None where it passes all policies.
        user: who asks.
        config: the name of the configuration in force.
        subresource: what part of the object the request is for.
        leaving: whether what is there is being deleted and kept by a finalizer.
        pod: the pod that a token is asked for; the request names its uid.
        applied: whether an UPDATE is made by server-side apply.
    """

    policy: PolicyName
    name: str
    operation: str
    object: Object
    refused: str | None = None
    old: Object | None = None
    user: User = User.TENANT
    config: str = "open"
    subresource: str = ""
    leaving: bool = False
    pod: Object | None = None
    applied: bool = False

    @property
    def id(self) -> str:
        return f"{self.policy.value}: {self.name}"

    @property
    def target(self) -> Object:
        """The object that the request names."""
        return self.old or self.object

    @property
    def after(self) -> Object:
        """The object as an UPDATE leaves it."""
        after: Object = merged(self.old or {}, self.object)
        return after


def merged(base: Any, patch: Any) -> Any:
    """A merge patch (RFC 7386), applied."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@dataclass
class _Cases:
    """The cases of one policy, written down one after the other."""

    policy: PolicyName
    config: str = "open"
    user: User = User.TENANT
    made: list[Case] = field(default_factory=list)

    def good(self, name: str, object: Object, **more: Any) -> None:
        self._add(name, object, None, more)

    def bad(self, name: str, object: Object, refused: str, **more: Any) -> None:
        self._add(name, object, refused, more)

    def _add(self, name: str, object: Object, refused: str | None, more: Object) -> None:
        old = more.get("old")
        operation = more.pop("operation", "UPDATE" if old else "CREATE")
        given: Object = {"config": self.config, "user": self.user} | more
        self.made.append(Case(self.policy, name, operation, object, refused, **given))


# ---- objects ----

API_VERSIONS = {
    "GitRepository": "source.toolkit.fluxcd.io/v1",
    "OCIRepository": "source.toolkit.fluxcd.io/v1",
    "HelmRepository": "source.toolkit.fluxcd.io/v1",
    "HelmChart": "source.toolkit.fluxcd.io/v1",
    "Bucket": "source.toolkit.fluxcd.io/v1",
    "ExternalArtifact": "source.toolkit.fluxcd.io/v1",
    "ArtifactGenerator": "source.extensions.fluxcd.io/v1beta1",
    "ImageRepository": "image.toolkit.fluxcd.io/v1",
    "ImagePolicy": "image.toolkit.fluxcd.io/v1",
    "ImageUpdateAutomation": "image.toolkit.fluxcd.io/v1",
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Alert": "notification.toolkit.fluxcd.io/v1beta3",
    "Provider": "notification.toolkit.fluxcd.io/v1beta3",
    "Receiver": "notification.toolkit.fluxcd.io/v1",
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "Policy": "kyverno.io/v1",
    "TenantResource": "capsule.clastix.io/v1beta2",
    "Widget": "example.com/v1",
    "PolicyException": "policies.kyverno.io/v1",
    "NamespacedValidatingPolicy": "policies.kyverno.io/v1",
    "TokenRequest": "authentication.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Eviction": "policy/v1",
}


def moved(object: Object, namespace: str) -> Object:
    """The same object in another namespace."""
    result: Object = merged(object, {"metadata": {"namespace": namespace}})
    return result


def made(
    kind: str,
    spec: Object | None = None,
    *,
    name: str = "app",
    namespace: str = APPS,
    labels: Object | None = None,
    annotations: Object | None = None,
    **rest: Any,
) -> Object:
    """An object; core kinds need no entry in `API_VERSIONS`."""
    metadata: Object = {"name": name, "namespace": namespace}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    result = {"apiVersion": API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata, **rest}
    return result if spec is None else result | {"spec": merged({}, spec)}


def git(url: str = "https://git.example.com/org/app", *, namespace: str = APPS, **spec: Any) -> Object:
    return made("GitRepository", {"interval": "10m", "url": url, **spec}, namespace=namespace)


def oci(url: str = "oci://registry.example.com/org/app", *, namespace: str = APPS, **spec: Any) -> Object:
    return made("OCIRepository", {"interval": "10m", "url": url, **spec}, namespace=namespace)


def helm_repository(url: str = "https://charts.example.com/org", **spec: Any) -> Object:
    return made("HelmRepository", {"interval": "10m", "url": url, **spec})


def bucket(
    endpoint: str = "storage.example.com", name: str = "charts", *, namespace: str = APPS, **spec: Any
) -> Object:
    return made("Bucket", {"interval": "10m", "endpoint": endpoint, "bucketName": name, **spec}, namespace=namespace)


def provider(address: str | None = None, *, namespace: str = APPS, type: str = "generic", **spec: Any) -> Object:
    fields = {"type": type} | ({} if address is None else {"address": address}) | spec
    return made("Provider", fields, namespace=namespace)


def alert() -> Object:
    return made("Alert", {"providerRef": {"name": "a"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]})


def receiver(*issuers: str, type: str = "generic-oidc", **spec: Any) -> Object:
    validations = [{"expression": "true", "message": "a"}]
    trusted = [{"issuerURL": issuer, "validations": validations} for issuer in issuers]
    resources = [{"kind": "GitRepository", "name": "app"}]
    return made(
        "Receiver", {"type": type, "resources": resources} | ({"oidcProviders": trusted} if issuers else {}) | spec
    )


def secret(address: str, *, namespace: str = APPS, name: str = "provider-slack", **data: str) -> Object:
    """The Secret of a Provider; entries of `data` are not encoded."""
    entries = {key: encoded(value) for key, value in ({"address": address} | data).items()}
    return made("Secret", name=name, namespace=namespace, data=entries)


def encoded(value: str) -> str:
    return base64.b64encode(value.encode("latin-1")).decode()


def image_repository(image: str, *, namespace: str = APPS, **spec: Any) -> Object:
    return made("ImageRepository", {"interval": "10m", "image": image, **spec}, namespace=namespace)


def chart(*, namespace: str = APPS, **spec: Any) -> Object:
    source = {"kind": "HelmRepository", "name": "charts"}
    return made("HelmChart", {"interval": "10m", "chart": "app", "sourceRef": source, **spec}, namespace=namespace)


def kustomization(*, name: str = "app", namespace: str = APPS, **spec: Any) -> Object:
    source = {"kind": "GitRepository", "name": "app"}
    fields = {"interval": "10m", "prune": True, "serviceAccountName": TENANT, "sourceRef": source} | spec
    return made("Kustomization", fields, name=name, namespace=namespace)


def release(*, namespace: str = APPS, template: Object | None = None, **spec: Any) -> Object:
    chart = {"chart": "app", "sourceRef": {"kind": "HelmRepository", "name": "charts"}} | (template or {})
    fields = {"interval": "10m", "serviceAccountName": TENANT, "chart": {"spec": chart}} | spec
    return made("HelmRelease", fields, namespace=namespace)


def container(**fields: Any) -> Object:
    return {"name": "app", "image": "nginx", **fields}


def pod(*, name: str = "app", namespace: str = APPS, container: Object | None = None, **spec: Any) -> Object:
    return made("Pod", _pod(container, spec), name=name, namespace=namespace)


def deployment(*, namespace: str = APPS, container: Object | None = None, **spec: Any) -> Object:
    return template_of("Deployment", _pod(container, spec), namespace)


def template_of(kind: str, spec: Object, namespace: str = APPS, labels: Object | None = None) -> Object:
    """An object that pods are made from."""
    template = {"metadata": {"labels": {"app": "app"} | (labels or {})}, "spec": spec}
    selector = {"matchLabels": {"app": "app"}}
    fields: Mapping[str, Object] = {
        "Deployment": {"selector": selector, "template": template},
        "ReplicaSet": {"selector": selector, "template": template},
        "DaemonSet": {"selector": selector, "template": template},
        "StatefulSet": {"selector": selector, "template": template, "serviceName": "app"},
        "ReplicationController": {"selector": {"app": "app"}, "template": template},
        "Job": {"template": merged(template, {"spec": {"restartPolicy": "Never"}})},
        "CronJob": {
            "schedule": "0 0 * * *",
            "jobTemplate": {"spec": {"template": merged(template, {"spec": {"restartPolicy": "Never"}})}},
        },
    }
    return made(kind, fields[kind], namespace=namespace)


PLATFORM_ACCOUNTS = (
    *((FLUX_NAMESPACE, each.value) for each in Controller),
    *((FLUX_NAMESPACE, account_of(each)) for each in Controller),
    *(("kyverno", f"kyverno-{part}-controller") for part in ("admission", "background", "cleanup", "reports")),
    *((CAPSULE.namespace, name) for name in ("capsule", REPLICATOR)),
    *(("kube-system", f"{part}-controller") for part in ("namespace", "statefulset")),
)
"""Namespace and name of each service account of the platform's own controllers."""
ONE_ACCOUNT_OF = dict(PLATFORM_ACCOUNTS)
"""One of these accounts by its namespace."""

DIGESTED = f"registry.example.com/org/app@sha256:{'0' * 64}"
"""An image that the configuration `listed` allows."""

TEMPLATES = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job", "CronJob")


def _pod(own: Object | None, spec: Object) -> Object:
    return {"containers": [container(**(own or {}))]} | spec


def claim(*, name: str = "data", **spec: Any) -> Object:
    return made("PersistentVolumeClaim", claim_spec(**spec), name=name)


def claim_spec(**spec: Any) -> Object:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}} | spec


def service(**spec: Any) -> Object:
    return made("Service", {"ports": [{"port": 80}], "selector": {"app": "app"}} | spec)


def binding(*subjects: Object, labels: Object | None = None, name: str = "app") -> Object:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    return made("RoleBinding", name=name, labels=labels, roleRef=role, subjects=list(subjects))


def account(name: str, namespace: str = APPS) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def person(kind: str, name: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


PLATFORMS_OWN = {TENANT_LABEL: TENANT}


# ---- cases ----


def _allowed_sources() -> list[Case]:
    shape, cases = "cannot be compared", _Cases(PolicyName.ALLOWED_SOURCES)
    cases.good("anywhere where everything is listed", git("https://elsewhere.example.com/a/b"))
    cases.good("SSH with a user and a port", git("ssh://git@git.example.com:2222/org/app.git"))
    cases.good("an OCI artifact", oci("oci://ghcr.io/org/app"))
    cases.good("an image of Docker Hub", image_repository("nginx"))
    cases.good("a bucket", bucket("storage.example.com:9000"))
    cases.good("a bucket of Azure", bucket("https://account.blob.core.windows.net", provider="generic"))
    cases.good("charts at a host's root", helm_repository("https://charts.jetstack.io"))
    cases.good("charts at a host's root, with a slash", helm_repository("https://helm.releases.hashicorp.com/"))
    cases.good("charts at a registry's root", helm_repository("oci://registry.example.com", type="oci"))
    cases.good("a space in the path", git("https://dev.azure.com/org/My%20Project/_git/My%20App"))
    cases.good("an organisation's own repository", git("https://github.com/org/.github"))
    cases.bad("a password in the URL", git("https://user:secret@git.example.com/org/app"), f"spec.url {shape}")
    cases.bad("a percent sign", git("https://git.example.com/org%2fapp"), shape)
    cases.bad("dots in the path", git("https://git.example.com/org/../evil/app"), shape)
    cases.bad("an empty part of the path", git("https://git.example.com/org//app"), shape)
    cases.bad("a query", git("https://git.example.com/org/app?x=1"), shape)
    cases.bad("capital letters in the host", git("https://GIT.example.com/org/app"), shape)
    cases.bad("SCP's way of naming a repository", git("ssh://git@git.example.com:org/app"), shape)
    cases.bad("a tag in the URL", oci("oci://ghcr.io/org/app:v1"), shape)
    cases.bad("a user in an image's name", image_repository("docker.io@evil.example.com/org/app"), shape)
    cases.bad("a path in a bucket's name", bucket(name="../charts"), shape)
    cases.bad("no encryption", git("http://git.example.com/org/app"), "is not encrypted")
    cases.bad(
        "no encryption of charts",
        helm_repository("http://charts.example.com/org"),
        "spec.url http://charts.example.com/org is not encrypted; use TLS, or ask the platform team for: "
        "policies.sources.plainHttp: true in the stack",
    )
    cases.good("insecure, but not", oci(insecure=False, provider="generic"))
    cases.bad("no encryption of an artifact", oci(insecure=True), "is not encrypted (spec.insecure is true); use TLS")
    cases.bad("no encryption of a bucket", bucket(insecure=True), "is not encrypted (spec.insecure is true)")
    cases.bad("no encryption of a registry", image_repository("nginx", insecure=True), "is not encrypted (spec.insec")
    cases.config = "unlisted"
    cases.bad(
        "all that charts need, in one message",
        made(
            "HelmRepository",
            {"interval": "10m", "url": "oci://10.0.0.7:5000/charts", "type": "oci", "insecure": True},
            namespace=LISTED,
        ),
        "spec.url oci://10.0.0.7:5000/charts is not an allowed source for tenant dev-team; allowed: "
        "https://git.example.com/dev-team/*, oci://registry.example.com/dev-team/app; it is not encrypted "
        "(spec.insecure is true); use one of these with TLS, or ask the platform team for: "
        "oci://10.0.0.7:5000/charts/* in the tenant's policies.sources, policies.sources.plainHttp: true in the "
        "stack, the images of its charts in the tenant's policies.images",
    )
    cases.bad(
        "another tenant's list does not count",
        git("https://git.example.com/org/app", namespace=LISTED, verify=_VERIFY_GIT),
        "spec.url https://git.example.com/org/app is not an allowed source for tenant dev-team; allowed: "
        "https://git.example.com/dev-team/*, oci://registry.example.com/dev-team/app; use one of these, or ask the "
        "platform team for: https://git.example.com/org/app in the tenant's policies.sources",
    )
    cases.good(
        "the tenant's own list", git("https://git.example.com/dev-team/app", namespace=LISTED, verify=_VERIFY_GIT)
    )
    cases.good("the tenant's own artifact", oci("oci://registry.example.com/dev-team/app", namespace=LISTED))
    cases.good("the last of a long list", git("https://git.example.com/organisation-299/app", namespace=MANY))
    cases.config = "open"
    old = git("https://user@git.example.com/org/app")
    old["metadata"]["name"] = "older"
    cases.good(
        "metadata of what is older than the policy", {"metadata": {"finalizers": ["finalizers.fluxcd.io"]}}, old=old
    )
    cases.bad("the spec of what is older than the policy", {"spec": {"interval": "20m"}}, shape, old=old)
    cases.bad("the platform's mistake", git("https://a@git.example.com/org/app"), shape, user=User.PLATFORM)
    cases.good(
        "a namespace that is no tenant's",
        git("https://a@git.example.com/org/app", namespace="default-apps"),
        user=User.PLATFORM,
    )

    cases.config = "listed"
    cases.good("the stack's list", git("https://git.example.com/org/app"))
    cases.good("the stack's place itself", git("https://git.example.com/org"))
    cases.good("the stack's charts at a host's root", helm_repository("https://charts.example.com"))
    cases.bad("other charts at that host", helm_repository("https://charts.example.com/org"), "not an allowed source")
    cases.good("the stack's registry", helm_repository("oci://registry.example.com/charts", type="oci"))
    cases.bad("the registry's root", helm_repository("oci://registry.example.com", type="oci"), "not an allowed source")
    cases.good("the stack's list, below", git("https://git.example.com/org/group/app.git/"))
    cases.good("the stack's bucket", bucket())
    cases.good(
        "the tenant's own list beside the stack's",
        git("https://git.example.com/dev-team/app.git", namespace=LISTED, verify=_VERIFY_GIT),
    )
    foreign = "is not an allowed source for tenant dev-team"
    for name, url in {
        "a look-alike of the organisation": "https://git.example.com/org-evil/app",
        "a look-alike of the host": "https://git.example.com.evil.example/org/app",
        "another host before it": "https://evil-git.example.com/org/app",
        "another port": "https://git.example.com:8443/org/app",
        "another protocol": "http://git.example.com/org/app",
        "SSH": "ssh://git@git.example.com/org/app",
        "another spelling of the organisation": "https://git.example.com/Org/app",
    }.items():
        cases.bad(name, git(url), foreign)
    cases.bad("another bucket", bucket(name="charts-evil"), foreign)
    google = {"provider": "gcp", "serviceAccountName": "own"}
    cases.good("a bucket of Google", bucket("storage.googleapis.com", **google))
    cases.bad(
        "a bucket of Google behind a listed endpoint",
        bucket("storage.example.com", "charts-evil", **google),
        f"spec.bucketName bucket://storage.googleapis.com/charts-evil {foreign}",
    )
    registry = "registry.example.com/charts/app"
    cases.good("no encryption where it may be", oci(f"oci://{registry}", insecure=True, verify=_VERIFY_OCI))
    cases.good("charts without encryption", helm_repository(f"oci://{registry}", type="oci", insecure=True))
    cases.good("tags without encryption", image_repository(registry, insecure=True))
    cases.good("a bucket without encryption", bucket(insecure=True))
    cases.bad("another place without encryption", oci(insecure=True, verify=_VERIFY_OCI), foreign)
    cases.bad(
        "charts elsewhere, where images are listed",
        helm_repository("https://charts.example.com/org"),
        "; use one of these, or ask the platform team for: https://charts.example.com/org in the tenant's "
        "policies.sources, the images of its charts in the tenant's policies.images",
    )
    cases.bad("an artifact", oci(verify=_VERIFY_OCI), foreign)
    cases.bad("charts", helm_repository(), foreign)
    cases.bad("an image", image_repository("nginx"), "spec.image oci://docker.io/library/nginx is not an allow")
    return cases.made


def _listed_sources() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_SOURCES, config="unlisted")
    nothing = "is not an allowed source for tenant dev-team; allowed: none; ask the platform team for: "
    cases.bad("nothing is listed", git(), f"{nothing}https://git.example.com/org/app in the tenant's policies.sources")
    cases.bad("nothing is listed for charts", helm_repository(), nothing)
    cases.bad("the platform's by hand", git(), nothing, user=User.PLATFORM)
    declared = merged(git(), {"metadata": {"labels": PLATFORMS_OWN}})
    cases.good("what the stack declares", declared, user=User.PLATFORM)
    namespaces = {entry: name for name, entry in SOURCE_ENTRIES.items()}
    for entry, url, allowed in SOURCE_ROWS:
        scheme, _, rest = url.partition("://")
        if scheme == "bucket":
            endpoint, _, name = rest.partition("/")
            source = bucket(endpoint, name, namespace=namespaces[entry])
        else:
            source = (oci if scheme == "oci" else git)(url, namespace=namespaces[entry])
        name = f"{url!r} of {entry}"
        cases.good(name, source) if allowed else cases.bad(name, source, "spec.")
    return cases.made


def _listed_images() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_IMAGES)
    namespaces = {entry: name for name, entry in IMAGE_ENTRIES.items()}
    for entry, image, allowed in IMAGE_ROWS:
        name, running = f"{image} of {entry}", deployment(namespace=namespaces[entry], container={"image": image})
        cases.good(name, running) if allowed else cases.bad(name, running, f"containers[].image: {image} is no")
    return cases.made


_VERIFY_GIT = {"mode": "HEAD", "secretRef": {"name": "keys"}}
_VERIFY_OCI = {"provider": "cosign", "secretRef": {"name": "keys"}}


def _source_options() -> list[Case]:
    cases = _Cases(PolicyName.SOURCE_OPTIONS)
    secret = {"name": "own"}
    cases.good("credentials", git(secretRef=secret))
    cases.good("GitHub's app", git(provider="github", secretRef=secret))
    cases.bad("a proxy", git(proxySecretRef=secret), "spec.proxySecretRef")
    cases.bad("an authority", helm_repository(certSecretRef=secret), "spec.certSecretRef")
    cases.bad(
        "a cloud",
        oci(provider="aws", serviceAccountName="own"),
        "spec.provider aws is not allowed; allowed: generic, github",
    )
    cases.good("no submodules", git(recurseSubmodules=False))
    cases.bad("submodules", git(recurseSubmodules=True), "spec.recurseSubmodules fetches every URL in the repository's")
    inside = {"kind": "HelmRepository", "name": "charts"}
    of_git = {"kind": "GitRepository", "name": "app"}
    cases.good("a chart of a repository", chart(chart="app", sourceRef=inside))
    cases.good("a chart below a registry's place", release(template={"chart": "group/app", "sourceRef": inside}))
    cases.good("a chart beside the folder in Git", chart(chart="./charts/../app", sourceRef=of_git))
    cases.bad(
        "a chart outside of its registry's place",
        chart(chart="../../evil/app", sourceRef=inside),
        "spec.chart ../../evil/app leads out of its HelmRepository",
    )
    cases.bad(
        "a release's chart outside of its registry's place",
        release(template={"chart": "app/../../evil", "sourceRef": inside}),
        "spec.chart.spec.chart app/../../evil leads out of its HelmRepository",
    )
    cases.bad(
        "a cloud's token service",
        bucket(sts={"provider": "ldap", "endpoint": "https://ldap.example.com"}),
        "spec.sts logs in at ldap",
    )
    cases.config = "listed"
    bucket_url = {"endpoint": "storage.example.com", "name": "charts"}
    cases.good("an authority that may be", bucket(certSecretRef=secret))
    cases.good("a cloud as the own identity", bucket(provider="aws", serviceAccountName="own", **bucket_url))
    cases.good(
        "the cloud's token service",
        bucket(
            provider="aws",
            serviceAccountName="own",
            sts={"provider": "aws", "endpoint": "https://sts.amazonaws.com"},
            region="eu-central-1",
        ),
    )
    cases.bad("a cloud as the controller", bucket(provider="aws"), "spec.serviceAccountName is missing")
    empty = bucket(provider="aws", serviceAccountName="")
    cases.bad("a cloud as the controller by an empty name", empty, "spec.serviceAccountName is missing")
    cases.bad("another cloud", bucket(provider="azure", serviceAccountName="own"), "spec.provider azure is not")
    cases.good("submodules that may be", git(recurseSubmodules=True))
    cases.bad("another region", bucket(region="us-east-1"), "spec.region us-east-1 is not allowed; allowed: eu-")
    cases.config = "granted"
    certified = helm_repository(certSecretRef=secret)
    of_stack = merged(certified, {"metadata": {"labels": PLATFORMS_OWN}})
    cases.good("an authority of a source of the stack", of_stack, user=User.PLATFORM)
    cases.bad("an authority beside one of the stack", certified, "spec.certSecretRef")
    cases.bad("an authority of another source by an admin", certified, "spec.certSecretRef", user=User.PLATFORM)
    return cases.made


def _verified_sources() -> list[Case]:
    cases = _Cases(PolicyName.VERIFIED_SOURCES)
    own = "https://git.example.com/dev-team/app"
    cases.good("nothing asked for", git())
    cases.good("no chart of a template", release(chartRef={"kind": "OCIRepository", "name": "app"}, chart=None))
    cases.good("signed", git(own, namespace=LISTED, verify=_VERIFY_GIT))
    cases.good("signed chart", release(namespace=LISTED, template={"verify": {"provider": "cosign"}}))
    cases.good("another kind", oci("oci://registry.example.com/dev-team/app", namespace=LISTED))
    by_reference = {
        kind: release(namespace=LISTED, chartRef={"kind": kind, "name": "app"}, chart=None)
        for kind in ("HelmChart", "OCIRepository", "ExternalArtifact")
    }
    cases.good("a chart that is verified by its own kind", by_reference["HelmChart"])
    around = "which need not be signed here, but charts must be; use a HelmChart, or spec.chart with verify"
    for kind in ("OCIRepository", "ExternalArtifact"):
        cases.bad(f"a chart by way of an {kind}", by_reference[kind], f"of the kind {kind}, {around}")
    cases.bad("not signed", git(own, namespace=LISTED), "spec.verify is missing")
    cases.bad("chart not signed", release(namespace=LISTED), "spec.chart.spec.verify is missing")
    cases.good("a signed chart by hand", chart(namespace=LISTED, verify={"provider": "cosign"}))
    cases.bad("a chart by hand", chart(namespace=LISTED), "spec.verify is missing")
    cases.bad(
        "a chart whose signature Flux does not look at",
        release(
            namespace=LISTED,
            template={"verify": {"provider": "cosign"}, "sourceRef": {"kind": "GitRepository", "name": "app"}},
        ),
        "spec.chart.spec.sourceRef must name a HelmRepository",
    )
    dropped = git(own, namespace=LISTED, verify=_VERIFY_GIT)
    dropped["metadata"]["name"] = "signed"
    cases.bad("verification dropped", {"spec": {"verify": None}}, "spec.verify is missing", old=dropped)
    cases.config = "listed"
    cases.good("a chart of an artifact that must be signed", by_reference["OCIRepository"])
    cases.bad("a chart of another's artifact", by_reference["ExternalArtifact"], f"ExternalArtifact, {around}")
    cases.bad("the stack's own kind", oci("oci://registry.example.com/dev-team/app", namespace=LISTED), "spec.verify")
    return cases.made


def _allowed_kinds() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_KINDS)
    closed = "objects are not open to tenant dev-team"
    ask = "ask the platform team for: {} in the tenant's policies.kinds"
    slack = provider("https://hooks.slack.com/a", namespace=CLOSED)
    listening = receiver(type="github", secretRef={"name": "a"})
    widget = made("Widget", {"size": 1}, namespace=CLOSED)
    for kind, object in {
        "Provider": slack,
        "Alert": moved(alert(), CLOSED),
        "Receiver": moved(listening, CLOSED),
        "Bucket": bucket(namespace=CLOSED),
        "ImageRepository": image_repository("nginx", namespace=CLOSED),
    }.items():
        cases.bad(f"a closed {kind}", object, f"{kind} {closed}")
    generated: Object = {"sources": [{"alias": "a", "kind": "GitRepository", "name": "a"}]}
    generated |= {"artifacts": [{"name": "a", "copy": [{"from": "@a/*", "to": "@artifact/"}]}]}
    cases.bad("a generator", made("ArtifactGenerator", generated, namespace=CLOSED), f"ArtifactGenerator {closed}")
    cases.bad("what to write instead", slack, f"{closed}; the platform team can declare notifications for it")
    cases.bad("what to ask for", slack, ask.format("Provider"))
    message = f"Widget {closed}; {ask.format('widgets.example.com')}"
    cases.bad("a kind that nobody knows", widget, message, user=User.MEMBER)
    from_git = {"sourceRef": {"kind": "GitRepository", "name": "app"}}
    message = "sourceRef.kind is GitRepository: such a chart can have dependencies from anywhere"
    cases.bad("a chart from Git", release(namespace=CLOSED, template=from_git), f"spec.chart.spec.{message}")
    cases.bad("a chart from Git by hand", chart(namespace=CLOSED, **from_git), f"spec.{message}")
    cases.bad("what a chart asks for", release(namespace=CLOSED, template=from_git), ask.format("HelmChart"))
    cases.good("a chart from a HelmRepository", release(namespace=CLOSED))
    cases.good("such a chart by hand", chart(namespace=CLOSED))
    artifact = {"kind": "OCIRepository", "name": "app"}
    cases.good("a chart as an artifact", release(namespace=CLOSED, chart=None, chartRef=artifact))
    cases.good("an opened chart from Git", release(namespace=OPENED, template=from_git))
    cases.good("an opened kind", moved(alert(), OPENED))
    cases.bad("a kind beside it", provider("https://hooks.slack.com/a", namespace=OPENED), f"Provider {closed}")
    cases.good("an opened kind of another controller", made("Widget", {"size": 1}, namespace=OPENED), user=User.MEMBER)
    cases.good("a Kustomization", kustomization(namespace=CLOSED))
    cases.good("a source", git(namespace=CLOSED))
    for object in (made("ConfigMap"), service(), deployment(), made("ServiceAccount", name="own")):
        cases.good(f"a {object['kind']}", moved(object, CLOSED))
    cases.good(
        "a template of pods", moved(template_of("ReplicationController", _pod(None, {})), CLOSED), user=User.MEMBER
    )
    cases.good("the platform's", merged(slack, {"metadata": {"labels": PLATFORMS_OWN}}), user=User.PLATFORM)
    cases.good("another one of the platform's", widget, user=User.PLATFORM)
    older = merged(widget, {"metadata": {"name": "older"}, "data": {"a": 1}})
    relabeled = {"metadata": {"labels": {"a": "b"}}}
    cases.good("metadata of what is older than the policy", relabeled, old=older, user=User.MEMBER)
    cases.good("its deletion", {}, old=older, operation="DELETE", user=User.MEMBER)
    cases.bad("its content", {"spec": {"size": 2}}, f"Widget {closed}", old=older, user=User.MEMBER)
    cases.bad("other content", {"data": {"a": 2}}, f"Widget {closed}", old=older, user=User.MEMBER)
    cases.bad("less content", {"data": None}, f"Widget {closed}", old=older, user=User.MEMBER)
    return cases.made


def _allowed_fields() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_FIELDS)
    unlisted = "spec has fields that tenants may not set: "
    named = {"name": "own"}
    proxied = provider("https://example.com/a", proxySecretRef=named)
    cases.bad("a proxy", proxied, f"{unlisted}proxySecretRef; remove them; ask the platform team if you need it")
    login = provider("https://dev.azure.com/a/b", type="azuredevops", serviceAccountName="own")
    cases.bad("a login to a cloud", login, f"{unlisted}serviceAccountName")
    everywhere: Object = {"accessFrom": {"namespaceSelectors": [{}]}}
    cases.bad("charts for everybody", helm_repository(**everywhere), f"{unlisted}accessFrom")
    cases.bad(
        "images for everybody", image_repository("nginx", **everywhere), f"{unlisted}accessFrom", user=User.MEMBER
    )
    declared = merged(proxied, {"metadata": {"labels": PLATFORMS_OWN}})
    cases.good("what the stack declares", declared, user=User.PLATFORM)
    older = merged(helm_repository(**everywhere), {"metadata": {"name": "older"}})
    cases.good("metadata of what is older than the policy", {"metadata": {"labels": {"a": "b"}}}, old=older)
    cases.bad("its content", {"spec": {"interval": "20m"}}, f"{unlisted}accessFrom", old=older)
    cases.good("the field taken away", {"spec": {"accessFrom": None}}, old=older)
    automation: Object = {"interval": "10m", "sourceRef": {"kind": "GitRepository", "name": "app"}}
    commit = {"commit": {"author": {"email": "a@example.com"}}}
    cases.good("an automation", made("ImageUpdateAutomation", automation | {"git": commit}))
    copied: Object = {"name": "app", "copy": [{"from": "@own/**", "to": "@artifact/"}], "revision": "@own"}
    own: Object = {"alias": "own", "kind": "GitRepository", "name": "app"}
    cases.good("an artifact", made("ArtifactGenerator", {"sources": [own], "artifacts": [copied]}))
    elsewhere = {"sources": [own], "artifacts": [copied, copied | {"name": "b", "namespace": FOREIGN}]}
    cases.bad(
        "an artifact in another namespace",
        made("ArtifactGenerator", elsewhere),
        "spec.artifacts[] has fields that tenants may not set: namespace; remove them; ask the platform team",
    )
    cases.bad(
        "the same by a person",
        made("ArtifactGenerator", elsewhere),
        "spec.artifacts[] has fields that tenants may not set: namespace",
        user=User.MEMBER,
    )
    written_as = {"sources": [own], "artifacts": [copied], "serviceAccountName": TENANT}
    cases.bad("artifacts as an account", made("ArtifactGenerator", written_as), f"{unlisted}serviceAccountName")
    managing = {"sources": [own], "artifacts": [copied], "managedNamespaces": {"allowedNames": ["true"], "prune": True}}
    cases.bad("namespaces of a generator", made("ArtifactGenerator", managing), f"{unlisted}managedNamespaces")
    cases.good("a release of a chart", release())
    anywhere: Object = {"url": "oci://registry.example.net/charts/app", "provider": "aws"}
    below = "spec.chart has fields that tenants may not set: kind; remove them; ask the platform team if you need it"
    cases.bad("a chart with an address", release(chart={"kind": "OCIRepository", "spec": anywhere}), below)
    template = "spec.chart.spec has fields that tenants may not set: "
    beside = release(template={"url": anywhere["url"]})
    cases.bad("an address beside a chart", beside, f"{template}url; remove them", user=User.MEMBER)
    return cases.made


def _notification_addresses() -> list[Case]:
    cases = _Cases(PolicyName.NOTIFICATION_ADDRESSES, config="unlisted")
    namespaces = {entry: name for name, entry in HOST_ENTRIES.items()}
    for entry, address, allowed in HOST_ROWS:
        name, posted = f"{address!r} of {entry}", provider(address, namespace=namespaces[entry])
        cases.good(name, posted) if allowed else cases.bad(name, posted, "spec.address ")
    slack = "https://hooks.slack.com/services/a"
    cases.bad("nothing is listed", provider(slack), "https://hooks.slack.com is not an allowed host; allowed: none")
    cases.bad(
        "another type",
        provider(slack, type="discord", namespace=namespaces["hooks.slack.com"]),
        "spec.type discord is not allowed; allowed: generic, slack; ask the platform team",
    )
    declared = provider("https://alertmanager.monitoring.svc", type="alertmanager")
    declared = merged(declared, {"metadata": {"labels": PLATFORMS_OWN}})
    cases.good("what the stack declares", declared, user=User.PLATFORM)
    cases.config = "open"
    secret = {"name": "provider-github"}
    comparable = "is not a single URL that can be compared"
    cases.good("an address in a Secret", provider(secretRef={"name": "provider-generic"}))
    cases.good("another Secret of its type", provider(secretRef={"name": "provider-generic-ops"}))
    cases.good("a certificate", provider("https://example.com/a", certSecretRef={"name": "own"}))
    name = "spec.secretRef.name is"
    cases.bad("a Secret of any name", provider(secretRef={"name": "own"}), f"{name} own; name the Secret provider-gen")
    cases.bad("a Secret of another type", provider(secretRef=secret), f"{name} provider-github; name the Secret")
    for type in ("azureeventhub", "googlepubsub", "pagerduty"):
        cases.bad(f"the type {type}", provider("https://example.com/a", type=type), f"spec.type {type} is not allowed")
    cases.good("a repository over SSH", provider("ssh://git@github.com/org/app", type="github", secretRef=secret))
    cases.good("a repository as Git writes it", provider("git@gitlab.com:org/app.git", type="gitlab"))
    foreign = "is not an allowed host; allowed: *.com, *.org, *.com:4222; ask the platform team"
    inside = "spec.address https://git.other.svc"
    cases.bad("a repository inside", provider("git@git.other.svc:org/app", type="gitea"), f"{inside} {foreign}")
    cases.bad("no repository", provider("git@example.com:org/app"), f"spec.address {comparable}")
    cases.good("a messenger with one address", provider(type="telegram", channel="a"))
    cases.good("a default address", provider(type="datadog"))
    cases.good("messages over TLS", provider("tls://nats.example.com:4222", type="nats", channel="a"))
    cases.bad("messages without TLS", provider("nats://nats.example.com:4222", type="nats", channel="a"), "not encrypt")
    for name, address in {
        "messages to a list": "tls://a.example.com,b.svc",
        "messages to a list with a path": "tls://a.example.com/,tls://b.svc",
        "messages without a scheme": "nats:4222",
    }.items():
        cases.bad(name, provider(address, type="nats", channel="a"), f"spec.address {comparable}")
    cases.bad("traces by any scheme", provider("grpc://tempo.tracing.svc", type="otel"), comparable)
    cases.bad("traces without a scheme", provider("//tempo.tracing.svc", type="otel"), comparable)
    cases.good("a receiver with a Secret", receiver(type="github", secretRef={"name": "own"}))
    cases.good("an issuer", receiver("https://issuer.example.com/a"))
    cases.bad(
        "an issuer inside",
        receiver("https://token.actions.example.com", "https://kubernetes.default.svc"),
        f"spec.oidcProviders[].issuerURL https://token.actions.example.com, https://kubernetes.default.svc {foreign}",
    )
    cases.bad("an issuer without TLS", receiver("http://issuer.example.com"), "http://issuer.example.com is not encry")
    older = merged(provider("http://192.0.2.1"), {"metadata": {"name": "older"}})
    cases.good("metadata of what is older than the policy", {"metadata": {"labels": {"a": "b"}}}, old=older)
    cases.bad("the spec of what is older", {"spec": {"channel": "a"}}, "http://192.0.2.1 is not encrypted", old=older)
    cases.config = "listed"
    cases.good("the stack's list", provider("https://hooks.slack.com/services/a"))
    cases.good(
        "the stack's list, without TLS", provider("http://alertmanager.monitoring.svc:9093", type="alertmanager")
    )
    cases.good(
        "the tenant's beside the stack's",
        provider("https://key@o1.ingest.sentry.io/2", namespace=namespaces["*.ingest.sentry.io"]),
    )
    foreign = "is not an allowed host; allowed: hooks.slack.com, alertmanager.monitoring.svc:9093; ask the"
    cases.bad("another", provider("https://example.com/a"), f"spec.address https://example.com {foreign}")
    cases.bad(
        "another by its type",
        provider(type="telegram", channel="a"),
        f"spec.type telegram with https://api.telegram.org {foreign}",
    )
    cases.bad("another's default", provider(type="datadog"), f"https://api.datadoghq.com {foreign}")
    cases.bad("another issuer", receiver("https://issuer.example.com"), foreign)
    return cases.made


def _notification_secrets() -> list[Case]:
    cases = _Cases(PolicyName.NOTIFICATION_SECRETS, config="unlisted")
    message = "the keys address and githubAppBaseURL of a Secret must be a single URL with https:// and an allowed host"
    namespaces = {entry: name for name, entry in HOST_ENTRIES.items()}
    for entry, address, allowed in HOST_ROWS:
        name, kept = f"{address!r} of {entry}", secret(address, namespace=namespaces[entry])
        cases.good(name, kept) if allowed else cases.bad(name, kept, message)
    here = namespaces["hooks.slack.com"]
    slack = "https://hooks.slack.com/a"
    cases.bad("nothing is listed", secret(slack), f"{message}, without white space or a line break around it; allowed")
    cases.good("all keys of its type", secret(slack, namespace=here, token="a", username="b", password="c"))
    cases.good("its second name", secret(slack, namespace=here, name="provider-slack-ops"))
    keys = "are not allowed in the Secret of a Provider of type"
    cases.bad("a proxy", secret(slack, namespace=here, proxy=slack), f"the keys proxy {keys} slack; remove them")
    cases.bad("a key of another type", secret(slack, namespace=here, headers="a"), f"the keys headers {keys} slack")
    cases.good("a key of its type", secret(slack, namespace=here, name="provider-generic", headers="a: b"))
    both = secret(slack, namespace=here, name="provider-generic-hmac", creds="a")
    cases.bad("a name of two types", both, f"the keys creds {keys} generic, generic-hmac")
    cases.good("another name", secret("http://192.0.2.1", proxy="db:5432", name="database"))
    cases.good("a name that no type has", secret("redis://redis:6379", name="provider-credentials"))
    for name, address in {
        "a line break after it": f"{slack}\n",
        "space before it": f" {slack}",
        "much space before it": f"{' ' * 300}{slack}",
        "space of another alphabet": f"\u00a0{slack}",
        "two": f"{slack},{slack}",
        "nothing": "",
        "no text": "\x00\xff",
        "too long": f"https://hooks.slack.com/{'a' * 900}",
    }.items():
        cases.bad(name, secret(address, namespace=here), message)
    for length in range(3):
        long = f"https://hooks.slack.com/{'a' * (800 + length)}"
        cases.good(f"a path of {800 + length} characters", secret(long, namespace=here))
    app = {"githubAppID": encoded("1"), "githubAppBaseURL": encoded("https://hooks.slack.com/api")}
    elsewhere = app | {"githubAppBaseURL": encoded("https://github.example.com/api")}
    ghe = {"githubAppBaseURL": encoded("https://git.example.com/api/v3")}
    cases.good("an app's API", made("Secret", namespace=here, data=app))
    cases.bad("an app's API elsewhere", made("Secret", namespace=here, data=elsewhere), message)
    fetched = {"metadata": {"namespace": SOURCE_HOST}}
    cases.good("an app's API at a host of the sources", merged(made("Secret", data=app | ghe), fetched))
    cases.good("of a Provider, too", merged(made("Secret", name="provider-github", data=app | ghe), fetched))
    cases.bad("another app's API", merged(made("Secret", data=elsewhere), fetched), message)
    cases.bad("messages to such a host", merged(secret("https://git.example.com/a"), fetched), message)
    form = "are malformed: ids must be digits"
    github = {"name": "provider-github", "namespace": here}
    whole = {"githubAppID": "12", "githubAppInstallationID": "34", "githubAppInstallationOwner": "my-org"}
    cases.good("an app", secret(slack, **github, **whole, githubAppPrivateKey="-----BEGIN RSA PRIVATE KEY-----"))
    for key in whole:
        cases.bad(f"{key} with a path", secret(slack, **github, **whole | {key: "../1"}), f"the keys {key} {form}")
    generic = {"name": "provider-generic", "namespace": here}
    cases.good("headers", secret(slack, **generic, headers="Authorization: Bearer a.b-c\nX-Team: dev team\n"))
    long = f"Authorization: Bearer {'a' * 860}"
    cases.good("long headers and a long address", secret(f"{slack}/{'a' * 860}", **generic, headers=long))
    for name, headers in {"of a list": "- a: b", "of another": "a: b\n<<: *c", "too long": f"{long}{'a' * 50}"}.items():
        cases.bad(f"headers {name}", secret(slack, **generic, headers=headers), f"the keys headers {form}")
    nats = {"name": "provider-nats", "namespace": here}
    creds = f"-----BEGIN NATS USER JWT-----\n{'a' * 900}\n------END NATS USER JWT------\n"
    seed = f"SU{'A' * 56}"
    cases.good("credentials of NATS", secret(slack, **nats, creds=creds))
    cases.good("a seed of NATS", secret(slack, **nats, nkey=seed))
    cases.bad("a path for a seed", secret(slack, **nats, nkey="/etc/nkey"), f"the keys nkey {form}")
    cases.bad("a path for credentials", secret(slack, **nats, creds="/etc/creds"), f"the keys creds {form}")
    cases.good("by the platform", secret("http://192.0.2.1"), user=User.PLATFORM)
    older = merged(secret("http://192.0.2.1"), {"metadata": {"name": "provider-slack-older"}})
    cases.good("metadata of what is older than the policy", {"metadata": {"labels": {"a": "b"}}}, old=older)
    cases.bad("the content of what is older", {"data": {"token": "Yg=="}}, message, old=older)
    cases.config = "listed"
    cases.good("without TLS", secret("http://alertmanager.monitoring.svc:9093", name="provider-alertmanager"))
    cases.bad("not the stack's", secret("https://example.com/a"), "allowed: hooks.slack.com, alertmanager.monitor")
    return cases.made


def _in_lane(object: Object, lane: str = "tenants") -> Object:
    """An object with the label of a lane; a HelmRelease, also of its chart."""
    label = {"metadata": {"labels": {LANE_LABEL: lane}}}
    of_chart = {"spec": {"chart": label}} if "chart" in object["spec"] and object["kind"] == "HelmRelease" else {}
    labelled: Object = merged(object, label | of_chart)
    return labelled


def _lanes() -> list[Case]:
    cases = _Cases(PolicyName.LANE, config="lanes")
    makers = (git, oci, bucket, helm_repository, chart, kustomization, release)
    for each in (maker() for maker in makers):
        kind = each["kind"]
        cases.good(f"a {kind} of its lane", _in_lane(each))
        cases.bad(
            f"a {kind} of no lane",
            each,
            ": the controllers of its tenant serve objects with a label; set "
            "metadata.labels['sharding.fluxcd.io/key'] to tenants",
        )
        cases.bad(f"a {kind} of another lane", _in_lane(each, "batch"), "to tenants")
        cases.bad(f"a {kind} of the platform's", _in_lane(each, "platform"), "to tenants")
        other = moved(each, LANED)
        if kind == "GitRepository":
            cases.good("in a namespace of another lane", _in_lane(other, "batch"))
        cases.bad(f"a {kind} of the usual lane in another", _in_lane(other), "to batch")
    unlabelled_chart = merged(release(), {"metadata": {"labels": {LANE_LABEL: "tenants"}}})
    cases.bad("a chart of no lane", unlabelled_chart, "set spec.chart.metadata.labels['sharding.fluxcd.io/key']")
    reference = {"chart": None, "chartRef": {"kind": "OCIRepository", "name": "app"}}
    named = {"name": "by-reference", "labels": {LANE_LABEL: "tenants"}}
    by_reference = merged(release(), {"spec": reference, "metadata": named})
    cases.good("a chart by reference", merged(by_reference, {"metadata": {"name": "new"}}))
    cases.bad("a chart of no lane instead of a reference", {"spec": release()["spec"] | {"chartRef": None}},
        "spec.chart.metadata.labels", old=by_reference,
    )  # fmt: skip
    moving, unlabelled = kustomization(name="moving"), kustomization(name="older")
    moving = _in_lane(moving)
    cases.bad("leaving its lane", {"metadata": {"labels": {LANE_LABEL: "batch"}}}, "to tenants", old=moving)
    cases.bad("leaving all lanes", {"metadata": {"labels": None}}, "to tenants", old=moving)
    cases.bad("the platform's mistake", _in_lane(git(), "batch"), "to tenants", user=User.PLATFORM)
    of_platform = merged(git(), {"metadata": {"labels": {TENANT_LABEL: TENANT}}})
    cases.good("the stack's own, before it has lanes", of_platform, user=User.PLATFORM)
    # It is served again when its sync or the platform labels it; until then it stays as it is.
    cases.good("another field of one without a label", {"spec": {"interval": "20m"}}, old=unlabelled)
    cases.good("entering its lane", {"metadata": {"labels": {LANE_LABEL: "tenants"}}}, old=unlabelled)
    return cases.made


def _identities() -> list[Case]:
    cases = _Cases(PolicyName.TENANT_SERVICE_ACCOUNT)
    cases.good("the tenant's", kustomization())
    cases.good("the tenant's release", release())
    cases.bad(
        "none",
        kustomization(serviceAccountName=None),
        "spec.serviceAccountName is missing; Flux applies everything in this namespace as its tenant: set it to "
        "dev-team",
    )
    cases.bad("empty", kustomization(serviceAccountName=""), "spec.serviceAccountName is missing")
    cases.bad("another", kustomization(serviceAccountName="default"), "spec.serviceAccountName is default;")
    cases.bad("another for a release", release(serviceAccountName="other"), "set it to dev-team")
    for _, name in PLATFORM_ACCOUNTS:
        cases.bad(f"the platform's {name}", kustomization(serviceAccountName=name), f"AccountName is {name};")
    for name in ONE_ACCOUNT_OF.values():
        cases.bad(f"a release's {name}", release(serviceAccountName=name), f"AccountName is {name};")
    for place in (NAMED, IMPLIED):
        cases.good(f"another name in {place}", kustomization(namespace=place, serviceAccountName="flux"))
        cases.bad(
            f"the tenant's name in {place}",
            release(namespace=place),
            "spec.serviceAccountName is dev-team; Flux applies everything in this namespace as its tenant: set it "
            "to flux",
        )
    cases.bad("none in the first", release(namespace=NAMED, serviceAccountName=None), "set it to flux")
    cases.good("none in the second", release(namespace=IMPLIED, serviceAccountName=None))
    made_cases = cases.made

    cases = _Cases(PolicyName.NO_KUBECONFIG)
    config = {"secretRef": {"name": "own"}}
    cases.good("this cluster", kustomization())
    cases.good("this cluster for a release", release())
    cases.bad("a secret", kustomization(kubeConfig=config), "spec.kubeConfig selects another cluster")
    cases.bad("a reference", kustomization(kubeConfig={"configMapRef": {"name": "own"}}), "spec.kubeConfig")
    cases.bad("a release's", release(kubeConfig=config), "spec.kubeConfig")
    deleted = kustomization(name="leaving")
    deleted["metadata"]["finalizers"] = ["a.example.com/b"]
    cases.bad(
        "of what is being deleted", {"spec": {"kubeConfig": config}}, "spec.kubeConfig", old=deleted, leaving=True
    )
    made_cases += cases.made

    cases = _Cases(PolicyName.OWN_NAMESPACES)
    cases.good("its own", kustomization(targetNamespace=APPS))
    cases.good("another one of the tenant", release(targetNamespace=LISTED, storageNamespace=LISTED))
    cases.bad(
        "another tenant's",
        kustomization(targetNamespace=FOREIGN),
        "spec.targetNamespace is other, which does not belong to this tenant; remove it or use one of: apps, "
        "apps-listed",
    )
    cases.bad("the platform's", release(targetNamespace="flux-system"), "spec.targetNamespace is flux-system")
    cases.bad("storage", release(storageNamespace=FOREIGN), "spec.storageNamespace is other")
    return made_cases + cases.made


def _references() -> list[Case]:
    cases = _Cases(PolicyName.NO_CROSS_NAMESPACE_REFERENCES)
    source = {"kind": "GitRepository", "name": "app"}
    foreign = source | {"namespace": FOREIGN}
    own = source | {"namespace": APPS}
    cases.good(
        "its own namespace", kustomization(sourceRef=own, dependsOn=[{"name": "a"}, {"name": "b", "namespace": APPS}])
    )
    cases.good(
        "all of its own",
        alert(),
    )
    only = "is other; objects may refer only to objects in their own namespace: remove it or use apps"
    cases.bad("a source", kustomization(sourceRef=foreign), f"spec.sourceRef.namespace {only}")
    cases.bad(
        "a dependency",
        kustomization(dependsOn=[{"name": "a"}, {"name": "b", "namespace": FOREIGN}]),
        f"spec.dependsOn[].namespace {only}",
    )
    cases.bad(
        "another one of the tenant", kustomization(dependsOn=[{"name": "b", "namespace": LISTED}]), "is apps-listed"
    )
    cases.bad(
        "a chart's source",
        release(template={"sourceRef": {"kind": "HelmRepository", "name": "c", "namespace": FOREIGN}}),
        f"spec.chart.spec.sourceRef.namespace {only}",
    )
    cases.bad(
        "a chart",
        release(chart=None, chartRef={"kind": "HelmChart", "name": "c", "namespace": FOREIGN}),
        f"spec.chartRef.namespace {only}",
    )
    cases.bad("a release's dependency", release(dependsOn=[{"name": "b", "namespace": FOREIGN}]), "spec.dependsOn[]")
    cases.bad(
        "events",
        made("Alert", {"providerRef": {"name": "a"}, "eventSources": [foreign]}),
        f"spec.eventSources[].namespace {only}",
    )
    receiver = {"type": "generic", "secretRef": {"name": "a"}}
    cases.good("a receiver", made("Receiver", receiver | {"resources": [own]}))
    cases.bad(
        "a receiver of others",
        made("Receiver", receiver | {"resources": [own, foreign]}),
        f"spec.resources[].namespace {only}",
    )
    policy = {"policy": {"numerical": {"order": "asc"}}}
    cases.bad(
        "images",
        made("ImagePolicy", policy | {"imageRepositoryRef": {"name": "a", "namespace": FOREIGN}}),
        f"spec.imageRepositoryRef.namespace {only}",
    )
    commit = {"commit": {"author": {"email": "a@example.com"}}}
    cases.bad(
        "what is pushed to",
        made("ImageUpdateAutomation", {"interval": "1h", "sourceRef": foreign, "git": commit}),
        f"spec.sourceRef.namespace {only}",
    )
    artifacts = {"artifacts": [{"name": "a", "copy": [{"from": "@a/*", "to": "@artifact/"}]}]}
    cases.good("what is put together", made("ArtifactGenerator", artifacts | {"sources": [own | {"alias": "a"}]}))
    cases.bad(
        "what is put together of others",
        made("ArtifactGenerator", artifacts | {"sources": [foreign | {"alias": "a"}]}),
        f"spec.sources[].namespace {only}",
    )
    made_cases = cases.made

    cases = _Cases(PolicyName.RECONCILIATION_INTERVAL)
    cases.good("the shortest", kustomization(interval="30s"))
    cases.good("in parts", kustomization(interval="1h30m", retryInterval="0.5h", timeout="5m"))
    cases.good("none", image_repository("nginx"))
    cases.bad("a second", kustomization(interval="1s"), "spec.interval is 1s; the minimum is 30s")
    cases.bad("milliseconds", git(interval="29999ms"), "spec.interval is 29999ms")
    cases.bad("nothing", oci(interval="0s"), "spec.interval is 0s")
    cases.bad("trying again", kustomization(retryInterval="1s"), "spec.retryInterval is 1s")
    cases.bad("a chart's", release(template={"interval": "1s"}), "spec.chart.spec.interval is 1s")
    strategy = {"strategy": {"name": "RetryOnFailure", "retryInterval": "1s"}}
    older = kustomization(name="slow", timeout="5m")
    cases.bad("faster", {"spec": {"interval": "1s"}}, "spec.interval is 1s", old=older)
    cases.good("slower", {"spec": {"interval": "1h"}}, old=older)
    cases.bad("an installation's", release(install=strategy), "spec.install.strategy.retryInterval is 1s")
    cases.bad("an upgrade's", release(upgrade=strategy), "spec.upgrade.strategy.retryInterval is 1s")
    cases.config = "listed"
    cases.bad("the stack's", kustomization(interval="4m59s"), "the minimum is 5m")
    cases.good("the stack's own", kustomization(interval="5m"))
    return made_cases + cases.made


def _timeouts() -> list[Case]:
    cases = _Cases(PolicyName.RECONCILIATION_TIMEOUT)
    cases.good("the longest", kustomization(timeout="1h"))
    cases.good("the shortest", release(timeout="1ms"))
    # With `waitStrategy: legacy`, Helm waits for ever.
    cases.bad("none", release(timeout="0s"), "spec.timeout is 0s; set more than 0s, and 1h at most")
    cases.good("in parts", release(timeout="59m59.5s", upgrade={"timeout": "0.5h"}))
    cases.good("a long interval with a timeout of its own", kustomization(interval="24h", timeout="5m"))
    cases.good("the longest that follows from the interval", kustomization(interval="1h30s"))
    cases.good("a release's, which does not follow from it", release(interval="24h"))
    cases.bad("a year", kustomization(timeout="8760h"), "spec.timeout is 8760h; set more than 0s, and 1h at most")
    missing = "spec.timeout is missing and defaults to spec.interval minus 30s, which is more than 1h"
    cases.bad("what follows from the interval", kustomization(interval="1h31s"), missing)
    cases.bad("a scan's", image_repository("nginx", interval="2h"), missing)
    for kind, object in {
        "a release": release(timeout="61m"),
        "a repository": git(timeout="3601s"),
        "an artifact": oci(timeout="61m"),
        "a bucket": bucket(timeout="61m"),
        "charts": helm_repository(timeout="61m"),
        "images": image_repository("nginx", interval="10m", timeout="61m"),
        "notifications": made("Provider", {"type": "generic", "timeout": "61m"}),
    }.items():
        cases.bad(kind, object, "and 1h at most")
    for action in ("install", "upgrade", "rollback", "test", "uninstall"):
        cases.bad(
            f"on {action}", merged(release(), {"spec": {action: {"timeout": "2h"}}}), f"spec.{action}.timeout is 2h"
        )
    older = kustomization(name="patient", timeout="5m")
    cases.bad("longer", {"spec": {"timeout": "2h"}}, "spec.timeout is 2h", old=older)
    cases.bad("left out later", {"spec": {"timeout": None, "interval": "2h"}}, missing, old=older)
    cases.good("shorter", {"spec": {"timeout": "1m"}}, old=older)
    cases.config = "listed"
    cases.good("the stack's own", kustomization(timeout="30m"))
    cases.bad("the stack's", kustomization(timeout="31m"), "and 30m at most")
    return cases.made


def _controller_load() -> list[Case]:
    cases = _Cases(PolicyName.CONTROLLER_LOAD)

    def health(current: str, count: int = 1) -> list[Object]:
        return [{"apiVersion": "example.com/v1", "kind": "Database", "current": current}] * count

    def checks(count: int) -> list[Object]:
        return [{"apiVersion": "apps/v1", "kind": "Deployment", "name": f"app-{i}"} for i in range(count)]

    # Of https://fluxcd.io/flux/cheatsheets/cel-healthchecks/, and of Flux's docs of the other fields.
    ready = (
        "has(status.observedGeneration) && metadata.generation == status.observedGeneration && "
        "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')"
    )
    cases.good("a check of Flux's library", kustomization(healthCheckExprs=health(ready, 20), healthChecks=checks(100)))
    cases.good("a sum", release(healthCheckExprs=health("status.ready + status.old == spec.replicas")))
    cases.good("another's readiness", kustomization(dependsOn=[{"name": "b", "readyExpr": "dep.status.ready"}]))
    commit = {"type": "github", "address": "https://github.com/org/app"}
    status = "event.involvedObject.kind + '/' + event.involvedObject.name"
    cases.good("the name of a status", made("Provider", commit | {"commitStatusExpr": status}))
    receiver = {"type": "generic", "secretRef": {"name": "a"}, "resources": [{"kind": "GitRepository", "name": "app"}]}
    named = "res.metadata.name == req.repository.split('/')[0]"
    cases.good("a filter", made("Receiver", receiver | {"resourceFilter": named}))
    tagged = (
        "has(res.metadata.annotations) && req.tag.split('/').last().value().split(\":\").first().value() == "
        "res.metadata.annotations['update-image']"
    )
    cases.good("a filter by annotation", made("Receiver", receiver | {"resourceFilter": tagged}))
    largest = f"status.a == '{'a' * 498}'"
    longest = {"current": largest, "inProgress": largest, "failed": largest}
    cases.good("as many as may be", release(healthCheckExprs=[health("true")[0] | longest] * 20))
    cases.bad(
        "too many checks",
        kustomization(healthChecks=checks(101)),
        "spec.healthChecks has 101 entries; the maximum is 100",
    )
    cases.bad(
        "too many expressions", release(healthCheckExprs=health(ready, 21)), "spec.healthCheckExprs has 21 entries"
    )
    # Of the same pages, and what people write besides.
    for name, expression in {
        "of each entry": "status.a.exists(e, has(e.b) && e['b'].startsWith('c') && e.c == metadata.generation)",
        "of an entry": "status.conditions.filter(e, e.type == 'Ready')[0].status == 'True'",
        "of no entry": "status.?conditions.orValue([]).filter(e, e.type in ['a', 'b']).size() == 0",
        "of a number": "size(status.conditions) > 0 && int(status.a) - 1 >= status.b",
        "of a choice": "(status.a == 1 || status.b < 2) && !(has(status.c)) ? true : status.?d.orValue(false)",
        "of a time": "timestamp(status.now) - timestamp(status.then) < duration('1h')",
        "of values in lists": "status.phase in ['Bound', 'Available'] || status.phase in spec.phases",
        "of a text in texts": "metadata.name.contains('/(a') && status.a.endsWith(metadata.name)",
        "on lines": 'has(status.a)\n  && status.a.trim() == "it\'s"',
    }.items():
        cases.good(f"a check {name}", kustomization(healthCheckExprs=health(expression)))
    depending = [{"name": "b", "readyExpr": "dep.status.a == self.metadata.labels['a'] && has(dep.status.b)"}]
    cases.good("a dependency", kustomization(dependsOn=depending))
    small = "(event.involvedObject.kind + '/' + provider.metadata.uid.split('-').first().value()).lowerAscii()"
    cases.good("a status in small letters", made("Provider", commit | {"commitStatusExpr": small}))
    plain = "must have at most 512 characters, without comments and escapes"
    cases.bad("too long", kustomization(healthCheckExprs=health(f"{'!' * 512}a")), plain)
    # Each of these would have to be repeated, or to have large values, to do any harm.
    for name, expression in {
        "replacement": "'ab'.replace('b', 'bb') == ''",
        "replacement on two lines": "'ab'.replace\n('b', 'bb') == ''",
        "quotation": "strings.quote('a') == ''",
        "a list joined": "['a'].join('b') == ''",
        "a format": "'%s'.format(['a']) == ''",
        "an entry added to itself": "['a'].exists(e, e + e == '')",
        "a list of lists": "status.a.map(e, [e, e]) == []",
        "encoding": "base64.encode(b'a') == ''",
        "a call after a space": "strings.quote ('a') == ''",
        "a call after a comment": "strings.quote//\n('a') == ''",
        "a call in a comment": "true // 'a'.quote()",
        "a loop in a loop": "status.a.all(e, e.all(e, e == 1))",
        "a loop in its parentheses": "status.a.all(e, !(e == 1 || (e.exists(e, e == 1))))",
        "a loop after a string": "status.a.all(e, e == ')' && e.all(e, e == 1))",
        "a loop after a text of several lines": "status.a.all(e, e == ''' ' ) ' ''' && e.all(e, e == 1))",
        "a loop after a comment": "status.a.all(e, //)\ne.all(e, e == 1))",
        "a loop after an escape": "status.a.all(e, e == '\\')' && e.all(e, e == 1))",
        "a loop over another name": "status.a.all(a, a == 1)",
        "a list for each": "status.a.all(e, e in status.a)",
        "a list of the root for each": "status.a.all(e, e in .status.a)",
        "a text for each": "status.a.all(e, size(status.b) > 0)",
        "a comparison for each": "status.a.all(e, status.a == status.a)",
        "an entry in a list for each": "status.a.all(e, [[e]] != [])",
        "an entry in a map for each": "status.a.all(e, {1: e} != {})",
        "copies of a value": "[status, status].all(e, e == 1)",
        "lists of copies": "[status, status] == [status, status]",
        "three loops": "has(a.b)" + " && a.all(e, e == 1)" * 3,
        "two loops that filter": "a.filter(e, e == 1).size() + a.filter(e, e == 2).size() == 1",
        "a pattern": "status.a.matches(status.b)",
        "the place of a text": "status.a.indexOf(status.b) == 1",
        "a text of the data in another": "status.a.contains(status.b)",
        "parts by a text of the data": "size(status.a.split(status.b)) == 1",
        "two sums of values": "a + a + a == a",
        "the generation of another for each": "a.all(e, e == dep.metadata.generation)",
        "sums of values beside texts": "a + 'b' + a + a + a + a == a",
        "seven sums": "a + '' + a + '' + a + '' + a + '' == a",
        "three lists of parts": "a.split('') == b.split('') || a.split('') == []",
        "a loop over parts": "a.split('').all(e, e == 'b')",
        "a loop over sums": "(a + a).all(e, e == 'b')",
        "a loop with four terms": "a.all(e, e == 1 || e == 2 || e == 3 || e == 4)",
        "a loop with nine literals": "a.all(e, e in [1, 2, 3, 4, 5, 6, 7, 8, 9])",
        "parts of a sum": "(a + 'b').split('') == []",
        "a name without an end in a text": "a.contains(metadata.name)",
        "three changes of a text": "a.trim().trim().trim() == ''",
        "eleven calls": " ? ".join(["has(a.b)"] * 11),
        "eight conditions": " || ".join(["a"] * 8),
        "four comparisons of values": "a == b && a != b && a in b && a < b",
        "comparisons with a name like a literal": "a == true_ && a == false_ && a == null_ && a == nullable",
        "a map of bytes": "{b'a': 1} == {}",
        "a message by its name": "google.protobuf.Struct{fields: data} == {}",
        "sets": "sets.contains(status.a, status.b)",
        "nested lists": "[[[[1]]]] == []",
        "texts one after the other": "a == ''' ' ''' + b.matches(c) + ' '",
    }.items():
        cases.bad(name, kustomization(healthCheckExprs=health(expression)), f"spec.healthCheckExprs[].current {plain}")
    failing = [health("true")[0] | {"failed": "'a'.replace('a', 'b') == ''"}]
    cases.bad("of a failure", release(healthCheckExprs=failing), f"spec.healthCheckExprs[].failed {plain}")
    depending = [{"name": "a"}, {"name": "b", "readyExpr": "'a'.replace('a', 'b') == ''"}]
    cases.bad("of a dependency", kustomization(dependsOn=depending), f"spec.dependsOn[].readyExpr {plain}")
    ready_ones = [{"name": f"a{number}", "readyExpr": "dep.status.ready"} for number in range(21)]
    cases.good("20 dependencies", kustomization(dependsOn=[*ready_ones[1:], {"name": "b"}]))
    cases.bad(
        "21 dependencies", kustomization(dependsOn=ready_ones), "spec.dependsOn has 21 entries with readyExpr; the maxi"
    )
    cases.bad("of a release's", release(dependsOn=depending), f"spec.dependsOn[].readyExpr {plain}")
    growing = "'a'.replace('a', 'b')"
    cases.bad("of a status", made("Provider", commit | {"commitStatusExpr": growing}), "spec.commitStatusExpr must")
    cases.bad("of a filter", made("Receiver", receiver | {"resourceFilter": f"{growing} == ''"}), "spec.resourceFilter")
    filtered = [{"kind": "GitRepository", "name": "app", "filter": f"{growing} == ''"}]
    cases.bad("of a resource", made("Receiver", receiver | {"resources": filtered}), "spec.resources[].filter must")
    provider = {"issuerURL": "https://token.example.com", "validations": [{"expression": "true", "message": "a"}]}
    listening = receiver | {"type": "generic-oidc", "secretRef": None}
    variable = {"name": "a", "expression": f"{growing} == ''"}
    cases.good("claims", made("Receiver", listening | {"oidcProviders": [provider]}))
    lists = [{"name": "a", "expression": "[claims.owner + '/b']"}, {"name": "c", "expression": "vars.a[0] + 'd'"}]
    cases.good("variables", made("Receiver", listening | {"oidcProviders": [provider | {"variables": lists}]}))
    for doubled in ("vars.a + vars.a", "vars.a + '' + vars.a"):
        twice = provider | {"variables": [{"name": "b", "expression": doubled}]}
        told = "spec.oidcProviders[].variables[].expression may have + only between"
        cases.bad(f"{doubled} of variables", made("Receiver", listening | {"oidcProviders": [twice]}), told)
    claims = provider | {"variables": [variable]}
    cases.bad(
        "of claims", made("Receiver", listening | {"oidcProviders": [claims]}), "spec.oidcProviders[].variables[]"
    )
    automation: Object = {"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"}}

    def commit_message(template: str) -> Object:
        commit = {"author": {"email": "a@example.com"}, "messageTemplate": template}
        return made("ImageUpdateAutomation", automation | {"git": {"commit": commit}})

    listed = (
        "Automation {{ .AutomationObject }}\n{{ range $path, $_ := .Changed.FileChanges -}}\n- {{ $path }} {a}\n"
        "{{ end -}}\n{{range .Changed.Changes}}{{print .OldValue}} -> {{println .NewValue}}{{end}}"
    )
    cases.good("a message of a commit", commit_message(listed))
    for name, template in {
        "repeated": '{{ repeat 100000000 "a" }}',
        "in a loop over all": "{{ range .Changed.Objects }}{{ range $.Changed.Objects }}{{ . }}{{ end }}{{ end }}",
        "in a loop over the same": "{{ range $a, $b := .Changed.FileChanges }}{{ range $b }}a{{ end }}{{ end }}",
        "too often": "{{ .Values.a }}" * 21,
        "at length": f"{{{{ range .Changed.Changes }}}}{'a' * 1000}{{{{ end }}}}",
        "by a pipe": '{{ .AutomationObject | printf "%1000000000s" }}',
        "by a template": '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
        "after a brace": '{{{ repeat 100000000 "a" }}',
    }.items():
        cases.bad(
            f"a message of a commit {name}", commit_message(template), "spec.git.commit.messageTemplate must have"
        )
    older = kustomization(name="checked", healthCheckExprs=health(ready))
    cases.bad("later", {"spec": {"healthCheckExprs": failing}}, plain, old=older)
    cases.good("others later", {"spec": {"healthCheckExprs": health("status.ready")}}, old=older)
    return cases.made


def _services() -> list[Case]:
    cases = _Cases(PolicyName.SERVICE_EXPOSURE)
    cases.good("inside", service())
    cases.good("headless", service(clusterIP="None"))
    cases.bad(
        "a port of the nodes", service(type="NodePort"), "spec.type NodePort is not allowed; use one of these: Cl"
    )
    cases.bad("a load balancer", service(type="LoadBalancer"), "spec.type LoadBalancer is not allowed")
    older = merged(service(), {"metadata": {"name": "older"}})
    cases.bad("opened later", {"spec": {"type": "NodePort"}}, "spec.type NodePort", old=older)
    cases.good("labels", {"metadata": {"labels": {"a": "b"}}}, old=older)
    cases.bad("a name", service(type="ExternalName", externalName="a.example.com"), "spec.type ExternalName")
    cases.bad(
        "another's address",
        service(externalIPs=["192.0.2.1"]),
        "spec.externalIPs could take over another tenant's traffic",
    )
    cases.bad("an address of a load balancer", service(loadBalancerIP="192.0.2.1"), "spec.loadBalancerIP")
    cases.config = "listed"
    cases.good("a load balancer that may be", service(type="LoadBalancer", loadBalancerIP="192.0.2.1"))
    cases.good("a name that may be", service(type="ExternalName", externalName="a.example.com"))
    cases.bad("ports of the nodes still", service(type="NodePort"), "use one of these: ClusterIP, LoadBalancer, Ex")
    return cases.made


def _load_balancers() -> list[Case]:
    cases = _Cases(PolicyName.LOAD_BALANCERS, config="listed")

    def balanced(
        name: str = "app", annotations: Object | None = None, port: Object | None = None, **spec: Any
    ) -> Object:
        ports = [{"port": 80} | (port or {})]
        named: Object = {"metadata": {"name": name, "annotations": annotations or {}}}
        made: Object = merged(service(type="LoadBalancer", **spec, ports=ports), named)
        return made

    cases.good("as it comes", balanced())
    kubectl = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "meta.helm.sh/release-name": "app"}
    cases.good("as Helm and kubectl mark it", balanced(annotations=kubectl))
    listed_ = {"lb.example.com/scheme": "internal", "service.example.com/size": "small"}
    cases.good("annotations that are listed", balanced(annotations=listed_))
    cases.good("a class that is listed", balanced(loadBalancerClass="example.com/internal"))
    cases.good(
        "ports that Kubernetes chooses, changed", {"spec": {"sessionAffinity": "ClientIP"}}, old=balanced("kept")
    )
    message = "metadata.annotations: lb.example.org/address is not allowed on a Service of type LoadBalancer"
    address = {"lb.example.org/address": "192.0.2.1"}
    cases.bad("another annotation", balanced(annotations=address), message)
    cases.bad("one that begins alike", balanced(annotations={"service.example.com/sized": "a"}), "is not allowed on a")
    cases.bad("an annotation later", {"metadata": {"annotations": address}}, message, old=balanced("later"))
    inside = merged(service(), {"metadata": {"name": "inside", "annotations": address}})
    cases.good("an annotation of another type", merged(inside, {"metadata": {"name": "app"}}))
    cases.bad("the type later", {"spec": {"type": "LoadBalancer"}}, message, old=inside)
    cases.good("by the platform", balanced(annotations=address), user=User.PLATFORM)
    cases.bad(
        "another class", balanced(loadBalancerClass="example.com/public"), "spec.loadBalancerClass example.com/public"
    )
    port = "Kubernetes chooses spec.ports[].nodePort and spec.healthCheckNodePort"
    cases.bad("a port of its choice", balanced(port={"nodePort": 30007}), port)
    chosen = {"spec": {"ports": [{"port": 80, "nodePort": 30008}]}}
    cases.bad("a port of its choice later", chosen, port, old=balanced("port-later"))
    unowned = merged(chosen, {"metadata": {"managedFields": [{}]}})
    cases.bad("a port of its choice without owners", unowned, port, old=balanced("unowned"))
    health: Object = {"externalTrafficPolicy": "Local", "healthCheckNodePort": 30009}
    cases.bad("a port for health of its choice", balanced(**health), port)
    cases.good("a port for health that Kubernetes chooses", balanced(externalTrafficPolicy="Local"))
    cases.config = "granted"
    cases.bad("an annotation where the type is granted", _at(balanced(annotations=address), GRANTED), message)
    cases.config = "open"
    cases.good("an annotation of another type where nothing is listed", merged(inside, {"metadata": {"name": "app"}}))
    return cases.made


def _host_access() -> list[Case]:
    cases = _Cases(PolicyName.HOST_ACCESS)
    host_path: Object = {"volumes": [{"name": "a", "hostPath": {"path": "/etc"}}]}
    privileged = {"securityContext": {"privileged": True}}
    cases.good("a pod", pod(volumes=[{"name": "a", "emptyDir": {}}], container={"ports": [{"containerPort": 80}]}))
    adds = {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}}
    cases.good("a low port", deployment(container=adds))
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        shared: Object = {name: True}
        cases.bad(name, deployment(**shared), f"spec.template.spec.{name} breaks the pod's isolation from the node")
    cases.bad("a folder", pod(**host_path), "spec.volumes[].hostPath: /etc is a folder of the node")
    cases.bad(
        "a privileged container", pod(container=privileged), "spec.containers[].securityContext.privileged of app"
    )
    cases.bad(
        "a first container", pod(initContainers=[container(**privileged) | {"name": "first"}]), "privileged of first"
    )
    many = {"securityContext": {"capabilities": {"add": ["NET_ADMIN", "CHOWN", "NET_BIND_SERVICE"]}}}
    cases.bad(
        "capabilities",
        deployment(container=many),
        "capabilities.add: NET_ADMIN, CHOWN is not allowed; allowed: NET_B",
    )
    cases.bad(
        "a port", deployment(container={"ports": [{"containerPort": 80, "hostPort": 80}]}), "ports[].hostPort of app"
    )
    cases.bad("a node", pod(nodeName="a"), "spec.nodeName a bypasses the scheduler")
    cases.bad("a node in a template", deployment(nodeName="a"), "spec.template.spec.nodeName a")
    for kind in TEMPLATES:
        path = "spec.jobTemplate.spec.template.spec" if kind == "CronJob" else "spec.template.spec"
        cases.bad(
            f"a {kind}",
            template_of(kind, {"containers": [container()], **host_path}),
            f"{path}.volumes[].hostPath: /etc",
            user=User.MEMBER if kind == "ReplicationController" else User.TENANT,
        )
        cases.good(
            f"a good {kind}",
            template_of(kind, {"containers": [container()]}),
            user=User.MEMBER if kind == "ReplicationController" else User.TENANT,
        )
    running = pod(name="running", nodeName="a", tolerations=[])
    cases.good(
        "a container for debugging a running pod",
        {"spec": {"ephemeralContainers": [container() | {"name": "debug"}]}},
        old=running,
        user=User.PLATFORM,
        subresource="ephemeralcontainers",
    )
    cases.bad(
        "a privileged one",
        {"spec": {"ephemeralContainers": [container(**privileged) | {"name": "debug"}]}},
        "privileged of debug",
        old=running,
        user=User.PLATFORM,
        subresource="ephemeralcontainers",
    )
    older = deployment(**host_path)
    older["metadata"]["name"] = "older"
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.bad("the pods of what is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, "hostPath", old=older)
    cases.good("a level that leaves it to Pod Security", deployment(namespace=PRIVILEGED, **host_path))
    usual = {"securityContext": {"capabilities": {"add": ["CHOWN"]}}}
    cases.good("what the level of the namespace allows", deployment(namespace=BASELINE, container=usual))
    cases.bad("what it does not", deployment(namespace=BASELINE, container=many), "add: NET_ADMIN is not allowed")
    return cases.made


def token(lifetime: int) -> Object:
    """A volume of a pod with a token of its service account that is valid for a number of seconds."""
    source = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": lifetime}}
    return {"name": "token", "projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}, source]}}


def _pod_identity() -> list[Case]:
    cases = _Cases(PolicyName.POD_IDENTITY)
    account = "serviceAccountName dev-team is the account that Flux uses to apply everything in this namespace; create"
    cases.good("as an account of its own", deployment(serviceAccountName="app"))
    cases.good("without a token", pod(automountServiceAccountToken=False))
    cases.good("a token of a day, as AWS's webhook mounts", deployment(volumes=[token(86400)]))
    cases.bad("a pod as Flux's account", pod(serviceAccountName=TENANT), f"spec.{account}", user=User.MEMBER)
    cases.bad("by the field's old name", deployment(serviceAccount=TENANT), f"spec.template.spec.{account}")
    for kind in ("Job", "CronJob", "StatefulSet"):
        runs = template_of(kind, {"containers": [container()], "serviceAccountName": TENANT})
        cases.bad(f"a {kind} as Flux's account", runs, account)
    long = "volumes[].projected.sources[].serviceAccountToken.expirationSeconds of token is longer than 24h, the max"
    cases.bad("a token of years", pod(volumes=[token(10 * 365 * 86400)]), f"spec.{long}")
    cases.bad("in a template", deployment(volumes=[token(86401)]), f"spec.template.spec.{long}")
    older = merged(deployment(serviceAccountName=TENANT), {"metadata": {"name": "as-flux"}})
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.bad("the pods of what is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, account, old=older)
    cases.config = "listed"
    own: Object = {"container": {"image": DIGESTED}}
    cases.good("the token that Kubernetes mounts, with the shortest limit", pod(**own))
    cases.bad("longer than the stack's limit", pod(volumes=[token(7200)], **own), "longer than 1h, the maximum")
    return cases.made


def _priority_classes() -> list[Case]:
    cases = _Cases(PolicyName.PRIORITY_CLASSES)
    cases.good("none", deployment())
    cases.good("by the platform", deployment(priorityClassName="system-node-critical"), user=User.PLATFORM)
    cases.bad(
        "the system's",
        deployment(priorityClassName="system-node-critical"),
        "spec.template.spec.priorityClassName system-node-critical is not allowed",
    )
    older = merged(deployment(priorityClassName="high"), {"metadata": {"name": "of-a-class"}})
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.bad("the pods of what is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, "high", old=older)
    cases.bad("of a pod", pod(priorityClassName="tenants"), "spec.priorityClassName tenants", user=User.MEMBER)
    cases.config = "listed"
    own: Object = {"container": {"image": f"registry.example.com/org/app@sha256:{'0' * 64}"}}
    cases.good("the tenants' own", deployment(priorityClassName="tenants", **own))
    cases.bad("another", deployment(priorityClassName="high", **own), "or use one of these: tenants")
    return cases.made


_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _volume_claims() -> list[Case]:
    cases = _Cases(PolicyName.VOLUME_CLAIMS)
    new: Object = {"storageClassName": "fast"}
    cases.good("a new volume", claim(**new))
    cases.good("bound by the platform", claim(volumeName="a"), user=User.PLATFORM)
    cases.bad("a volume", claim(volumeName="a", **new), "volumeName a selects an existing volume")
    cases.bad("by labels", claim(selector={"matchLabels": {"a": "b"}}, **new), "a volume claim with a selector")
    empty = "with an empty class (storageClassName or the annotation volume.beta.kubernetes.io/storage-cl"
    cases.bad("any that is there", claim(storageClassName=""), empty)
    annotated: Object = {"metadata": {"annotations": {_CLASS_ANNOTATION: ""}}}
    cases.bad("any that is there, by the annotation", merged(claim(**new), annotated), empty)
    no_default = "without a storageClassName binds an existing volume, because the cluster has no default"
    cases.bad("any that is there, without a class", claim(), no_default)
    stateful = template_of("StatefulSet", {"containers": [container()]})

    def of_set(template: Object) -> Object:
        templates = [merged({"metadata": {"name": "data"}}, template)]
        result: Object = merged(stateful, {"spec": {"volumeClaimTemplates": templates}})
        return result

    cases.good("a StatefulSet", of_set({"spec": claim_spec()}))
    cases.bad("of a StatefulSet", of_set({"spec": claim_spec(volumeName="a")}), "volumeName a")
    cases.bad("of a StatefulSet, by the annotation", of_set(annotated | {"spec": claim_spec(**new)}), empty)

    def ephemeral(template: Object) -> Object:
        return {"name": "data", "ephemeral": {"volumeClaimTemplate": template}}

    bad_volume = ephemeral({"spec": claim_spec(volumeName="a")})
    cases.good("a pod", deployment(volumes=[ephemeral({"spec": claim_spec()})]))
    cases.bad("of a pod", deployment(volumes=[bad_volume]), "volumeName a")
    cases.bad("of a pod, by the annotation", pod(volumes=[ephemeral(annotated | {"spec": claim_spec(**new)})]), empty)
    older = merged(deployment(volumes=[bad_volume]), {"metadata": {"name": "with-a-claim"}})
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.bad(
        "the pods of what is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, "volumeName a", old=older
    )
    older_set = merged(of_set({"spec": claim_spec(volumeName="a")}), {"metadata": {"name": "of-a-volume"}})
    cases.good(
        "the pods of a StatefulSet that is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, old=older_set
    )
    bound = claim(name="bound", volumeName="a")
    cases.good("labels of a bound one", {"metadata": {"labels": {"a": "b"}}}, old=bound)
    waiting = claim(name="waiting", storageClassName="fast")
    cases.bad("bound by hand", {"spec": {"volumeName": "a"}}, "volumeName a", old=waiting)
    cases.good("bound by the binder", {"spec": {"volumeName": "a"}}, old=waiting, user=User.PATCHER)
    unclassed = claim(name="unclassed")
    cases.bad("any that is there, later", {"spec": {"storageClassName": ""}}, empty, old=unclassed)
    cases.good("a class later", {"spec": {"storageClassName": "fast"}}, old=unclassed)
    cases.config = "listed"
    cases.good("of a class that is listed", claim(**new))
    only = "storageClassName static is not allowed; use one of these: fast; ask"
    cases.bad("of another", claim(storageClassName="static"), only)
    stateful = template_of("StatefulSet", {"containers": [container(image=DIGESTED)]})
    cases.bad("of another, for a StatefulSet", of_set({"spec": claim_spec(storageClassName="static")}), "static is not")
    return cases.made


def _node_placement() -> list[Case]:
    cases = _Cases(PolicyName.NODE_PLACEMENT)
    gone: Object = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    gpu: Object = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    usual = [{"key": "node.kubernetes.io/unreachable"} | gone, gpu]
    labelled = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
    spread = {"labelSelector": {"matchLabels": {"app": "app"}}, "topologyKey": "kubernetes.io/hostname"}

    def required(term: Object) -> Object:
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [spread]}
    affinity: Object = {"nodeAffinity": required({"matchExpressions": [labelled]}), "podAntiAffinity": apart}
    cases.good("nodes of a kind, apart from each other", deployment(tolerations=usual, affinity=affinity))
    cases.good("a pod", pod(tolerations=usual, nodeSelector={"kubernetes.io/os": "linux"}))
    every = "tolerations: every taint (no key) is not allowed; tolerate by key, and only taints of nodes"
    daemons = template_of("DaemonSet", {"containers": [container()], "tolerations": [{"operator": "Exists"}]})
    cases.bad("every taint", daemons, f"spec.template.spec.{every}")
    cases.bad("every taint of an effect", pod(tolerations=[gone]), f"spec.{every}")
    for key in ("node-role.kubernetes.io/control-plane", "node.kubernetes.io/unschedulable"):
        cases.bad(key, deployment(tolerations=[{"key": key, "operator": "Exists"}]), f"tolerations: {key} is not all")
    chosen = "selects a node by its name; select nodes by labels"
    host: Object = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
    named: Object = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    cases.bad("a node's label", deployment(nodeSelector={"kubernetes.io/hostname": "a"}), chosen)
    cases.bad("a node's name", pod(affinity={"nodeAffinity": required({"matchFields": [named]})}), chosen)
    preferred = {"weight": 1, "preference": {"matchExpressions": [host]}}
    rather = {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    cases.bad("a node rather than others", deployment(affinity={"nodeAffinity": rather}), chosen)
    apart_of = "affinity.podAffinity or podAntiAffinity:"
    for kind in ("podAntiAffinity", "podAffinity"):
        preferred_term: Object = {"weight": 1, "podAffinityTerm": spread}
        terms: Mapping[str, Object] = {
            "required": {"requiredDuringSchedulingIgnoredDuringExecution": [spread]},
            "preferred": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred_term]},
        }
        for when, term in terms.items():

            def reaching(of: Object, kind: str = kind, term: Object = term) -> Object:
                [(key, [entry])] = term.items()
                entry = merged(entry, {"podAffinityTerm": of} if "podAffinityTerm" in entry else of)
                return {"affinity": {kind: {key: [entry]}}}

            cases.good(f"{when} {kind} in its own", deployment(**reaching({"namespaces": [APPS, LISTED]})))
            said = f"{apart_of} namespaceSelector selects pods of other tenants"
            cases.bad(f"{when} {kind} in all", deployment(**reaching({"namespaceSelector": {}})), said)
            cases.bad(f"{when} {kind} in another's", pod(**reaching({"namespaces": [APPS, FOREIGN]})), f"{apart_of} ot")
    of_daemons = pod(
        affinity={"nodeAffinity": required({"matchFields": [named]})}, tolerations=[{"operator": "Exists"}]
    )
    cases.good("a pod of a DaemonSet, by its controller", of_daemons, user=User.CONTROLLER)
    cases.config = "listed"
    own: Object = {"container": {"image": DIGESTED}}
    cases.good("a taint that is listed", pod(tolerations=[{"key": "tenants", "operator": "Exists"}], **own))
    cases.bad("another", deployment(tolerations=[gpu], **own), "nvidia.com/gpu is not allowed; allowed taints: tenants")
    return cases.made


def _pod_volumes() -> list[Case]:
    cases = _Cases(PolicyName.POD_VOLUMES)

    def volume(**source: Object) -> Object:
        return {"volumes": [{"name": "a", **source}]}

    usual = [
        {"name": "config", "configMap": {"name": "a"}},
        {"name": "secret", "secret": {"secretName": "a"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "a"}},
        {"name": "cache", "emptyDir": {}},
        {"name": "pod", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    cases.good("of the namespace", deployment(volumes=usual))
    csi = volume(csi={"driver": "secrets-store.csi.k8s.io"})
    no_driver = "volumes[].csi.driver: secrets-store.csi.k8s.io is not allowed; allowed: none; use a Persistent"
    cases.bad("a driver", pod(**csi), f"spec.{no_driver}")
    cases.bad("a driver in a template", deployment(**csi), f"spec.template.spec.{no_driver}")
    nfs = volume(nfs={"server": "storage.example.com", "path": "/"})
    cases.bad("another's files", deployment(namespace=BASELINE, **nfs), "volumes[].nfs uses existing storage")
    cases.good("a level that leaves it to Pod Security", deployment(namespace=PRIVILEGED, **nfs))
    cases.config = "listed"
    cases.good("a driver that is listed", pod(container={"image": DIGESTED}, **csi))
    cases.good("storage that is listed", pod(container={"image": DIGESTED}, **nfs))
    return cases.made


def _disruption_budgets() -> list[Case]:
    cases = _Cases(PolicyName.DISRUPTION_BUDGETS)
    cases.good("one pod", disruption_budget(maxUnavailable=1))
    cases.good("a part", disruption_budget(maxUnavailable="10%"))
    cases.good("all but one, as charts have it", disruption_budget(minAvailable=1))
    cases.good("half", disruption_budget(minAvailable="50%"))
    cases.good("a few", disruption_budget(maxUnavailable=25))
    cases.good("none at all", disruption_budget(minAvailable=0))
    message = "the budget may allow no eviction, which would block node drains; set spec.maxUnavailable to at least 1"
    cases.bad("none", disruption_budget(maxUnavailable=0), message)
    cases.bad("none in a hundred", disruption_budget(maxUnavailable="0%"), message)
    cases.bad("all of them", disruption_budget(minAvailable="100%"), message)
    cases.bad("nearly all of them", disruption_budget(minAvailable="99%"), message)
    cases.bad("more than half", disruption_budget(minAvailable="51%"), message)
    cases.bad("more than there are", disruption_budget(minAvailable=2147483647), message)
    older = disruption_budget(name="older", maxUnavailable=1)
    cases.bad("none any more", {"spec": {"maxUnavailable": 0}}, message, old=older)
    cases.config = "listed"
    cases.good("where they may", disruption_budget(maxUnavailable=0))
    return cases.made


def ingress(*hosts: str, namespace: str = APPS, annotations: Object | None = None, **spec: Any) -> Object:
    """An Ingress as a chart makes it."""
    paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "app", "port": {"number": 80}}}}]
    rules = [{"http": {"paths": paths}} | ({"host": host} if host else {}) for host in hosts]
    fields = ({"rules": rules} if rules else {}) | spec
    return made("Ingress", fields, namespace=namespace, annotations=annotations)


def _ingresses() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_HOSTS)
    named = "external-dns.alpha.kubernetes.io/hostname"
    every: Object = {"defaultBackend": {"service": {"name": "app", "port": {"number": 80}}}}
    cases.good("any where nothing is listed", ingress("anything.example.net", ""))
    tls = [{"hosts": ["shop.example.com"], "secretName": "shop-tls"}]
    issuer = {"cert-manager.io/cluster-issuer": "letsencrypt", "nginx.ingress.kubernetes.io/rewrite-target": "/"}
    cases.good("its own", ingress("shop.example.com", namespace=LISTED, tls=tls, annotations=issuer))
    cases.good("below its own", ingress("*.dev.example.com", "a.b.dev.example.com", namespace=LISTED))
    foreign = " is not an allowed host for tenant dev-team; allowed: shop.example.com, *.dev.example.com; ask"
    for host in ("shop.example.com.evil.example", "evil-shop.example.com", "evildev.example.com", "dev.example.com"):
        cases.bad(f"not {host}", ingress(host, namespace=LISTED), f"host {host}{foreign}")
    cases.bad("every one", ingress("", namespace=LISTED), f"host * (an Ingress without a host){foreign}")
    cases.bad("what nobody serves", ingress(namespace=LISTED, **every), f"(an Ingress without a host){foreign}")
    others = [{"hosts": ["shop.example.com", "login.example.com"]}]
    cases.bad("another's certificate", ingress("shop.example.com", namespace=LISTED, tls=others), "host login.example")
    alias = {"nginx.ingress.kubernetes.io/server-alias": "a.dev.example.com, LOGIN.example.com"}
    cases.bad("an alias", ingress("shop.example.com", namespace=LISTED, annotations=alias), "host login.example.com is")
    for key in (
        "haproxy-ingress.github.io/server-alias",
        "ingress.kubernetes.io/redirect-from",
        "konghq.com/host-aliases",
        "appgw.ingress.kubernetes.io/hostname-extension",
        "cert-manager.io/alt-names",
        "external-dns.alpha.kubernetes.io/internal-hostname",
    ):
        names = "a.dev.example.com,login.example.com"
        cases.bad(
            key,
            ingress("shop.example.com", namespace=LISTED, annotations={key: names}),
            f"host login.example.com{foreign}",
        )
        cases.good(
            f"{key}, its own", ingress("shop.example.com", namespace=LISTED, annotations={key: "a.dev.example.com"})
        )
    unreadable = " may publish hosts that cannot be compared with the allowed hosts; list the hosts in spec.rules; ask"
    for key, value in {
        "ingress.kubernetes.io/server-alias-regex": "^.*$",
        "nginx.ingress.kubernetes.io/from-to-www-redirect": "true",
        "alb.ingress.kubernetes.io/conditions.app": "[]",
        "zalando.org/skipper-routes": "*",
        "traefik.ingress.kubernetes.io/router.tls.domains.0.main": "login.example.com",
    }.items():
        published = ingress("shop.example.com", namespace=LISTED, annotations={key: value})
        cases.bad(key, published, f"metadata.annotations: {key}{unreadable}")
        cases.good(f"{key} where nothing is listed", ingress("shop.example.com", annotations={key: value}))
    cases.good(
        "a host for the backend",
        ingress("shop.example.com", namespace=LISTED, annotations={"nginx.ingress.kubernetes.io/upstream-vhost": "a"}),
    )
    published = merged(service(), {"metadata": {"namespace": LISTED, "annotations": {named: "login.example.com"}}})
    cases.bad("a Service's name", published, f"host login.example.com{foreign}")
    cases.good("a Service without one", merged(service(), {"metadata": {"namespace": LISTED}}))
    older = merged(ingress("shop.example.com", namespace=LISTED, annotations=alias), {"metadata": {"name": "older"}})
    cases.good("what a controller notes down", {"metadata": {"annotations": {"a.example.com/b": "c"}}}, old=older)
    cases.good("one less", {"metadata": {"annotations": dict.fromkeys(alias)}}, old=older)
    cases.bad("another alias", {"metadata": {"annotations": {named: "login.example.com"}}}, "host login.", old=older)
    cases.bad("another name", {"spec": {"rules": [{"host": "login.example.com"}]}}, "host login.", old=older)
    cases.config = "listed"
    cases.good("the stack's", ingress("a.apps.example.com"))
    cases.bad("not the stack's", ingress("example.com"), "allowed: *.apps.example.com")
    made_cases = cases.made

    cases = _Cases(PolicyName.INGRESS_SNIPPETS)
    snippet = "nginx.ingress.kubernetes.io/configuration-snippet"
    message = f"metadata.annotations: {snippet} changes the configuration of the proxy that all tenants share"
    cases.good("what an annotation is for", ingress("shop.example.com", annotations=issuer))
    cases.bad("a snippet", ingress("shop.example.com", annotations={snippet: "a"}), message)
    for key in ("nginx.org/server-snippets", "haproxy-ingress.github.io/config-backend"):
        cases.bad(key, ingress("shop.example.com", annotations={key: "a"}), f"metadata.annotations: {key} changes")
    several = {snippet: "a", "nginx.ingress.kubernetes.io/server-snippet": "b"}
    older = merged(ingress("shop.example.com", annotations=several), {"metadata": {"name": "with-snippets"}})
    cases.good("what a controller notes down", {"metadata": {"annotations": {"a.example.com/b": "c"}}}, old=older)
    cases.good("one less", {"metadata": {"annotations": {snippet: None}}}, old=older)
    cases.bad("another snippet", {"metadata": {"annotations": {snippet: "c"}}}, snippet, old=older)
    cases.config = "listed"
    cases.good("where they may", ingress("a.apps.example.com", annotations={snippet: "a"}))
    return made_cases + cases.made


def _volume_classes() -> list[Case]:
    cases = _Cases(PolicyName.VOLUME_CLASSES, user=User.CONTROLLER)
    cases.good("of a template with a class", claim(storageClassName="fast"))
    cases.good("of the platform's own template", claim(storageClassName="", volumeName="a"))
    cases.bad("of a template without a class", claim(), "because the cluster has no default class")
    cases.config = "listed"
    cases.good("of a class that is listed", claim(storageClassName="fast"))
    cases.bad("of a default class that is not listed", claim(storageClassName="static"), "use one of these: fast")
    return cases.made


def _allowed_images() -> list[Case]:
    cases = _Cases(PolicyName.ALLOWED_IMAGES)
    cases.good("anything where nothing is listed", pod(container={"image": "registry.example.net:5000/a/b:c"}))
    cases.good("by a tag", pod(namespace=LISTED, container={"image": "registry.example.com/dev-team/app:v1"}))
    cases.good("of Docker Hub", deployment(namespace=LISTED, container={"image": "nginx:1.27"}))
    cases.good("of Docker Hub in full", pod(namespace=LISTED, container={"image": "docker.io/nginx"}))
    foreign = " is not an allowed image for tenant dev-team; allowed: registry.example.com/dev-team/*, docker.io/l"
    for name, image in {
        "another of Docker Hub": "redis",
        "somebody's copy": "somebody/nginx",
        "a look-alike of the organisation": "registry.example.com/dev-team-evil/app",
        "the organisation itself": "registry.example.com/dev-team",
        "a look-alike of the registry": "registry.example.com.evil.example/dev-team/app",
        "another port": "registry.example.com:5000/dev-team/app",
        "a host in capital letters": "EVIL/dev-team/app",
    }.items():
        cases.bad(name, pod(namespace=LISTED, container={"image": image}), f"spec.containers[].image: {image}{foreign}")
    older = merged(deployment(namespace=LISTED, container={"image": "redis"}), {"metadata": {"name": "of-redis"}})
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.bad("the pods of what is older", {"spec": {"template": {"spec": {"hostname": "a"}}}}, "redis", old=older)
    first = container(image="redis") | {"name": "first"}
    cases.bad("a first container", pod(namespace=LISTED, initContainers=[first]), f"image: redis{foreign}")
    image = f"registry.example.com/organisation-299/app@sha256:{'0' * 64}"
    more = [container(image=image) | {"name": f"more-{number}"} for number in range(100)]
    cases.good(
        "a hundred images of a long list", deployment(namespace=MANY, container={"image": image}, initContainers=more)
    )
    volume = {"name": "a", "image": {"reference": "redis"}}
    cases.bad("a volume", pod(namespace=LISTED, volumes=[volume]), f"image: redis{foreign}")
    cases.config = "listed"
    digest = f"@sha256:{'0' * 64}"
    cases.good("by digest", pod(container={"image": f"registry.example.com/org/app{digest}"}))
    cases.good("by tag and digest", pod(container={"image": f"registry.example.com/org/app:v1{digest}"}))
    cases.good("the tenant's beside the stack's", pod(namespace=LISTED, container={"image": f"nginx{digest}"}))
    cases.bad(
        "by tag alone", pod(container={"image": "registry.example.com/org/app:v1"}), "app:v1 is referenced by tag"
    )
    cases.bad("not the stack's", pod(container={"image": f"nginx{digest}"}), "allowed: registry.example.com/org/*;")
    return cases.made


def _platform_objects() -> list[Case]:
    cases = _Cases(PolicyName.PLATFORM_OBJECTS)
    message = "has the label toolkit.fluxcd.io/tenant, which marks platform objects"
    sync = merged(kustomization(name="sync"), {"metadata": {"labels": PLATFORMS_OWN, "annotations": {"a": "b"}}})
    key = made("Secret", name="key", labels=PLATFORMS_OWN, stringData={"identity": "not to be shown"})
    own = made("ConfigMap", name="own", data={"a": "b"})
    posting = merged(provider("https://hooks.slack.com/a"), {"metadata": {"name": "chat", "labels": PLATFORMS_OWN}})
    listening = merged(alert(), {"metadata": {"name": "chat", "labels": PLATFORMS_OWN}})
    access = binding(account(TENANT), labels=PLATFORMS_OWN, name="access")
    further = (oci(), helm_repository(), bucket())
    login = made("Secret", name=f"{TENANT}.charts-credentials-01234567", labels=PLATFORMS_OWN, immutable=True)
    ask = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    for user in (User.TENANT, User.MEMBER):
        cases.user = user
        cases.good(f"{user} asks for a reconciliation", ask, old=sync)
        cases.good(f"{user} changes its own", {"data": {"a": "c"}}, old=own)
        cases.good(f"{user} deletes its own", {}, old=own, operation="DELETE")
        cases.good(f"{user} creates its own", made("ConfigMap", data={}))
        cases.bad(f"{user} changes the sync", {"spec": {"suspend": True}}, f"Kustomization sync {message}", old=sync)
        cases.bad(f"{user} changes the sync and asks", merged(ask, {"spec": {"path": "./b"}}), message, old=sync)
        cases.bad(
            f"{user} applies what is there",
            {key: sync[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "sync"}},
            "Kustomization sync belongs to the platform; applying it, even unchanged, would make the tenant an owner",
            old=sync,
            applied=True,
        )
        cases.good(
            f"{user} applies a request for a reconciliation",
            {key: sync[key] for key in ("apiVersion", "kind")} | merged(ask, {"metadata": {"name": "sync"}}),
            old=sync,
            applied=True,
        )
        cases.bad(f"{user} takes the label", {"metadata": {"labels": {TENANT_LABEL: None}}}, message, old=sync)
        cases.bad(f"{user} adds an annotation", {"metadata": {"annotations": {"b": "c"}}}, message, old=sync)
        cases.bad(f"{user} takes an annotation", {"metadata": {"annotations": {"a": None}}}, message, old=sync)
        cases.bad(f"{user} adds a finalizer", {"metadata": {"finalizers": ["orphan"]}}, message, old=sync)
        cases.bad(f"{user} deletes the sync", {}, message, old=sync, operation="DELETE")
        for installed in (release(), chart()):
            kind, named = installed["kind"], {"name": "installed", "labels": PLATFORMS_OWN}
            own_chart = merged(installed, {"metadata": named})
            changed = {"spec": {"suspend": True}}
            cases.good(f"{user} asks for a reconciliation of the {kind}", ask, old=own_chart)
            cases.bad(f"{user} changes the {kind}", changed, f"{kind} installed {message}", old=own_chart)
            cases.bad(f"{user} deletes the {kind}", {}, message, old=own_chart, operation="DELETE")
        cases.bad(f"{user} changes the key", {"data": {"identity": "aQ=="}}, f"Secret key {message}", old=key)
        cases.bad(f"{user} annotates the key", ask, message, old=key)
        cases.bad(f"{user} deletes the key", {}, message, old=key, operation="DELETE")
        cases.bad(f"{user} creates one", made("Secret", labels=PLATFORMS_OWN), message)
        for each in further:
            kind, given = each["kind"], merged(each, {"metadata": {"name": "charts", "labels": PLATFORMS_OWN}})
            cases.good(f"{user} asks for a fetch of the {kind}", ask, old=given)
            cases.bad(f"{user} changes the {kind}", {"spec": {"interval": "2h"}}, f"{kind} charts {message}", old=given)
            cases.bad(f"{user} logs the {kind} in", {"spec": {"secretRef": {"name": "a"}}}, message, old=given)
            cases.bad(f"{user} deletes the {kind}", {}, message, old=given, operation="DELETE")
        cases.bad(f"{user} deletes a login", {}, message, old=login, operation="DELETE")
        cases.bad(
            f"{user} leads messages elsewhere", {"spec": {"address": "https://example.com"}}, message, old=posting
        )
        cases.bad(f"{user} silences messages", {"spec": {"suspend": True}}, message, old=listening)
        cases.bad(f"{user} ends messages", {}, message, old=listening, operation="DELETE")
        cases.bad(f"{user} labels its own", {"metadata": {"labels": PLATFORMS_OWN}}, message, old=own)
        kept = "uses a name reserved for platform objects; choose another"
        for name in ("webhook", "git-01234567", "sops-89abcdef", "signers-01234567"):
            secret = made("Secret", name=f"{TENANT}-{name}", immutable=True)
            cases.bad(f"{user} takes the name of {name}", secret, f"Secret {TENANT}-{name} {kept}")
        for kind in ("Receiver", "GitRepository", "Kustomization"):
            shape = {"Receiver": {"type": "generic", "secretRef": {"name": "a"}, "resources": []}}
            taken = made(kind, shape[kind], name=TENANT) if kind in shape else kustomization(name=TENANT)
            taken = merged(git(), {"metadata": {"name": TENANT}}) if kind == "GitRepository" else taken
            cases.bad(f"{user} takes the name of the {kind}", taken, f"{kind} {TENANT} {kept}")
        cases.good(f"{user} has a secret for Git", made("Secret", name=f"{TENANT}-git-password"))
        cases.good(f"{user} has a webhook's secret", made("Secret", name="app-webhook"))
        cases.good(f"{user} has another sync", kustomization(name=f"{TENANT}-jobs"))
        template = template_of("Deployment", {"containers": [container()]}, labels=PLATFORMS_OWN)
        cases.bad(f"{user} labels a template", template, message)
        cases.bad(f"{user} labels the chart of its release", _with_chart_labels(PLATFORMS_OWN), message)
        cases.good(f"{user} labels the chart of its release as its own", _with_chart_labels({"app": "app"}))
        claims = [merged(claim(storageClassName="fast"), {"metadata": {"namespace": None, "labels": PLATFORMS_OWN}})]
        stateful = merged(
            template_of("StatefulSet", {"containers": [container()]}), {"spec": {"volumeClaimTemplates": claims}}
        )
        cases.bad(f"{user} labels the claims of its pods", stateful, message)
        of_claim: Object = {"metadata": {"labels": PLATFORMS_OWN}, "spec": claim_spec(storageClassName="fast")}
        volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": of_claim}}
        of_volume = merged(volume, {"ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": None}}}})
        for of_kind in (pod, deployment):
            kind = of_kind()["kind"]
            cases.bad(f"{user} labels the volumes of a {kind}", of_kind(volumes=[volume]), f"{kind} app {message}")
            cases.good(f"{user} has volumes of a {kind}", of_kind(volumes=[of_volume]))
        cases.good(f"{user} has a chart", chart())
        put_together: Object = {
            "sources": [{"kind": "GitRepository", "name": "app", "alias": "a"}],
            "artifacts": [{"name": "a", "copy": [{"from": "@a/*", "to": "@artifact/"}]}],
        }
        labelling = made("ArtifactGenerator", put_together | {"commonMetadata": {"labels": PLATFORMS_OWN}})
        cases.bad(f"{user} labels what is put together", labelling, message)
        labelling = made("ArtifactGenerator", put_together | {"commonMetadata": {"labels": {"app": "app"}}})
        cases.good(f"{user} labels what is put together as its own", labelling)
    cases.bad("member deletes its access", {}, message, old=access, operation="DELETE")
    for kind in TEMPLATES:
        labelled_pods = template_of(kind, {"containers": [container()]}, labels=PLATFORMS_OWN)
        cases.bad(f"member labels the pods of a {kind}", labelled_pods, f"{kind} app {message}")
    cases.good(
        "member has a ReplicationController", template_of("ReplicationController", {"containers": [container()]})
    )
    labelled = merged(pod(), {"metadata": {"labels": PLATFORMS_OWN}})
    cases.user = User.PLATFORM
    cases.good("the platform changes the sync", {"spec": {"suspend": True}}, old=sync)
    cases.good("the platform deletes the key", {}, old=key, operation="DELETE")
    cases.good("the platform makes a pod", labelled)
    cases.good("the platform takes its name", made("Secret", name=f"{TENANT}-webhook"))
    cases.user = User.PATCHER
    cases.good("a controller patches the sync", {"metadata": {"finalizers": ["a.example.com/b"]}}, old=sync)
    return cases.made


def _with_chart_labels(labels: Object) -> Object:
    labelled: Object = merged(release(), {"spec": {"chart": {"metadata": {"labels": labels}}}})
    return labelled


def _release_size() -> list[Case]:
    cases = _Cases(PolicyName.RELEASE_SIZE)
    labels = {"owner": "helm", "name": "app", "version": "1"}
    stored: Object = {"name": "sh.helm.release.v1.app.v1", "labels": labels}

    def helm(size: int, **more: Any) -> Object:
        return made("Secret", type="helm.sh/release.v1", data={"release": encoded("a" * size)}, **(stored | more))

    most = 128 * 1024
    message = ": the stored release has 129 KiB; the maximum is 128 KiB, because helm-controller loads it"
    for user in (User.TENANT, User.MEMBER):
        cases.user = user
        cases.good(f"a release of {user}", helm(most))
        cases.bad(f"a large release of {user}", helm(most + 1024), f"Secret sh.helm.release.v1.app.v1{message}")
        cases.bad(f"one of {user} by its name alone", helm(most + 1024, labels=None), message)
        cases.bad(f"one of {user} by its label alone", helm(most + 1024, name="app"), f"Secret app{message}")
        data = {"release": encoded("a" * (most + 1024))}
        cases.good(f"another large Secret of {user}", made("Secret", name="app", data=data))
        grown = {"data": {"release": encoded("a" * (most + 1024))}}
        cases.bad(
            f"one of {user} that grows",
            grown,
            message,
            old=helm(1, name="sh.helm.release.v1.app.v2", labels=labels | {"version": "2"}),
        )
        unlabelled = helm(most + 1024, name=f"to-be-labelled-{user}", labels=None)
        cases.bad(f"one of {user} labelled later", {"metadata": {"labels": stored["labels"]}}, message, old=unlabelled)
    other = ": Helm's release Secrets have the label"
    cases.good(
        "a release of several parts",
        helm(1, name="sh.helm.release.v1.a.v2.v10", labels=labels | {"name": "a.v2", "version": "10"}),
    )
    others: dict[str, Object] = {
        "label of its owner": {"labels": labels | {"owner": "flux"}},
        "label": {"labels": None},
        "name": {"name": "app"},
        "name of its release": {"name": "sh.helm.release.v1.web.v1"},
        "version": {"labels": labels | {"version": "01"}},
    }
    for part, changed in others.items():
        cases.bad(f"one with another {part}", helm(1, **changed), other)
    cases.bad("one with another type", made("Secret", **stored, data={"release": encoded("a")}), other)
    cases.bad("one with its type alone", helm(1, name="app", labels=None), f"Secret app{other}")
    text = made("Secret", **stored, stringData={"release": "a" * (most + 1024)})
    cases.bad("a large release as text", text, message)
    cases.good("a large release of the platform", helm(most + 1024), user=User.PLATFORM)
    cases.config = "listed"
    cases.good("a large release where it may", helm(most + 1024))
    return cases.made


def _unheld_deletion() -> list[Case]:
    cases = _Cases(PolicyName.UNHELD_DELETION)
    foreign, blocked = "held.example.com/held", "ownerReferences would block the deletion of"

    def held(*finalizers: str, **more: Any) -> Object:
        given: Object = merged(made("ConfigMap", **more), {"metadata": {"finalizers": list(finalizers)}})
        return given

    def owned(kind: str, name: str, version: str = "v1", **more: Any) -> Object:
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": "a", **more}
        given: Object = merged(made("ConfigMap"), {"metadata": {"ownerReferences": [owner]}})
        return given

    labels = {"metadata": {"labels": {"a": "b"}}}
    for user in (User.TENANT, User.MEMBER):
        cases.user = user
        message = f"ConfigMap app: metadata.finalizers has {foreign}, which would block deletion"
        cases.bad(f"{user} holds an object", held("orphan", foreign), message)
        cases.bad(
            f"{user} holds an older object",
            {"metadata": {"finalizers": [foreign]}},
            f"finalizers has {foreign}",
            old=made("ConfigMap", name="unheld"),
        )
        cases.bad(f"{user} holds with another kind's finalizer", held("kubernetes.io/pvc-protection"), "pvc-protection")
        cases.bad(
            f"{user} blocks the binding",
            owned("RoleBinding", "dev-team-reconciler", "rbac.authorization.k8s.io/v1", blockOwnerDeletion=True),
            f"ConfigMap app: {blocked} RoleBinding dev-team-reconciler, which belongs to the platform",
        )
        cases.bad(f"{user} blocks the namespace", owned("Namespace", APPS, blockOwnerDeletion=True), "Namespace apps")
        cases.good(f"{user} lets the collector finalize", held("foregroundDeletion"))
        cases.good(f"{user} is owned by the binding", owned("RoleBinding", "a", "rbac.authorization.k8s.io/v1"))
        cases.good(f"{user} is owned by its own", owned("Deployment", "a", "apps/v1", blockOwnerDeletion=True))
        cases.good(
            f"{user} applies what was exported",
            merged(claim(storageClassName="fast"), {"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}),
        )
        cases.good(
            f"{user} applies what was exported from Flux",
            merged(helm_repository(), {"metadata": {"finalizers": ["finalizers.fluxcd.io"]}}),
        )
        cases.good(f"{user} changes what is held", labels, old=held(foreign, name="held"))
        cases.good(f"{user} lets go", {"metadata": {"finalizers": None}}, old=held(foreign, name="held"))
        allowed = held("controllers.example.com/cleanup")
        cases.good(f"{user} has one that is allowed", allowed, config="listed")
        cases.bad(f"{user} has one that is allowed elsewhere", allowed, "has controllers.example.com/cleanup")
    for kind, finalizer in {
        "Pod": "batch.kubernetes.io/job-tracking",
        "Service": "service.kubernetes.io/load-balancer-cleanup",
    }.items():
        each = pod() if kind == "Pod" else service()
        tracked = merged(each, {"metadata": {"finalizers": [finalizer]}})
        cases.bad(f"a finalizer of another {kind}", tracked, f"{kind} app: metadata.finalizers has {finalizer}")
        older = merged(tracked, {"metadata": {"name": "tracked"}})
        cases.good(f"labels of a {kind} with it", labels, old=older)
        orphaned = {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "a"}]}}
        # Kubernetes takes its own finalizer off a Pod whose Job is not there.
        held_one = merged(each, {"metadata": {"name": "held-one", "finalizers": [foreign]}})
        message = f"{kind} held-one: ownerReferences must not change while metadata.finalizers has {foreign}, which"
        cases.bad(f"another owner of a {kind} with a finalizer", orphaned, message, old=held_one)
        cases.good(
            f"another owner of a {kind} without one", orphaned, old=merged(each, {"metadata": {"name": "untracked"}})
        )
    slow: Object = {"terminationGracePeriodSeconds": 3601}
    message = ": terminationGracePeriodSeconds is 3601; the maximum is 3600 (1h)"
    cases.good("a pod that ends in an hour", pod(terminationGracePeriodSeconds=3600))
    cases.bad("a pod that ends later", pod(**slow), f"Pod app{message}")
    for kind in TEMPLATES:
        slow_template = template_of(kind, {"containers": [container()], **slow})
        cases.bad(f"a {kind} whose pods end later", slow_template, f"{kind} app{message}", user=User.MEMBER)
    cases.made += _unheld_templates(foreign)
    older = merged(deployment(**slow), {"metadata": {"name": "slow"}})
    cases.good("the number of what is older than the policy", {"spec": {"replicas": 3}}, old=older)
    cases.config = "listed"
    cases.good("a pod that may", pod(container={"image": DIGESTED}, terminationGracePeriodSeconds=7200))
    cases.config = "open"
    cases.user = User.MEMBER
    held_role = merged(made("Role", rules=[]), {"metadata": {"finalizers": [foreign]}})
    cases.bad("member holds a role", held_role, f"Role app: metadata.finalizers has {foreign}")
    widget = made("Widget", {"template": "a", "chart": [], "volumeClaimTemplates": 1}, namespace=OPENED)
    held_widget = merged(widget, {"metadata": {"finalizers": [foreign]}})
    cases.bad(
        "member holds an object of another controller", held_widget, f"Widget app: metadata.finalizers has {foreign}"
    )
    collected = merged(widget, {"metadata": {"finalizers": ["orphan"]}})
    cases.good("member lets the collector finalize one, whatever its spec", collected)
    cases.user = User.PLATFORM
    cases.good("the platform holds an object", held(foreign))
    cases.user = User.PATCHER
    controllers = {"metadata": {"finalizers": [foreign]}}
    cases.good("a controller holds an object", controllers, old=made("ConfigMap", name="unheld"))
    return cases.made


def _unheld_templates(foreign: str) -> list[Case]:
    cases = _Cases(PolicyName.UNHELD_DELETION, user=User.MEMBER)
    held: Object = {"metadata": {"finalizers": [foreign]}}
    allowed = {"finalizers": ["controllers.example.com/cleanup"]}
    for kind in TEMPLATES:
        plain = template_of(kind, {"containers": [container()]})
        path = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"

        def of_pods(metadata: Object, plain: Object = plain, path: str = path) -> Object:
            for name in reversed(path.split(".")):
                metadata = {name: metadata}
            given: Object = merged(plain, metadata)
            return given

        message = f"{kind} app: {path}.metadata.finalizers has {foreign}, which would block deletion"
        cases.bad(f"a {kind} whose pods are held", of_pods(held), message)
        cases.good(f"a {kind} whose pods the collector finalizes", of_pods({"metadata": {"finalizers": ["orphan"]}}))
        cases.good(
            f"a {kind} whose pods have one that is allowed",
            of_pods({"metadata": allowed, "spec": {"containers": [container(image=DIGESTED)]}}),
            config="listed",
        )
    labels = {"metadata": {"labels": {"a": "b"}}}
    plain = deployment()
    held_pods = merged(plain, {"metadata": {"name": "held-pods"}, "spec": {"replicas": 0, "template": held}})
    cases.good("the labels of one whose pods are held", labels, old=held_pods)
    cases.bad(
        "its own finalizer for its pods, too",
        {"spec": {"template": held}},
        f"Deployment held: spec.template.metadata.finalizers has {foreign}",
        old=merged(plain, merged(held, {"metadata": {"name": "held"}})),
    )
    job = merged(template_of("CronJob", {"containers": [container()]}), {"spec": {"jobTemplate": held}})
    cases.bad("a CronJob whose jobs are held", job, f"CronJob app: spec.jobTemplate.metadata.finalizers has {foreign}")

    def of_claims(metadata: Object) -> Object:
        template = {"metadata": {"name": "data", **metadata}, "spec": claim_spec(storageClassName="fast")}
        pods = template_of("StatefulSet", {"containers": [container()]})
        given: Object = merged(pods, {"spec": {"volumeClaimTemplates": [template]}})
        return given

    message = f"StatefulSet app: spec.volumeClaimTemplates[].metadata.finalizers has {foreign}"
    cases.bad("a StatefulSet whose claims are held", of_claims({"finalizers": [foreign]}), message)
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": APPS, "uid": "a", "blockOwnerDeletion": True}
    message = "StatefulSet app: ownerReferences would block the deletion of Namespace apps"
    cases.bad("a StatefulSet whose claims block the namespace", of_claims({"ownerReferences": [owner]}), message)
    cases.good("a StatefulSet with claims", of_claims({"labels": {"a": "b"}}))
    return cases.made


def _tenant_namespace() -> list[Case]:
    cases = _Cases(PolicyName.TENANT_NAMESPACE, user=User.MEMBER)
    apps, message = NAMESPACE_OBJECTS[APPS], "Namespace apps: only the platform team may change it and its labels"
    label = {"metadata": {"labels": {_ENFORCE: "privileged"}}}
    cases.bad("another level", label, message, old=apps)
    cases.bad("no tenant", {"metadata": {"labels": {TENANT_LABEL: None}}}, message, old=apps)
    cases.bad("another list", {"metadata": {"annotations": {SOURCES: "https://a.example.com/*"}}}, message, old=apps)
    cases.bad("deleted", {}, message, old=apps, operation="DELETE")
    cases.bad(
        "its status",
        {"status": {"conditions": [{"type": "a", "status": "True"}]}},
        message,
        old=apps,
        subresource="status",
    )
    cases.good("no tenant's", label, old=NAMESPACE_OBJECTS["default-apps"])
    cases.good("by the platform", label, old=apps, user=User.PLATFORM)
    cases.good("deleted by the platform", {}, old=apps, operation="DELETE", user=User.PLATFORM)
    return cases.made


def _tenant_limits() -> list[Case]:
    cases = _Cases(PolicyName.TENANT_LIMITS, user=User.MEMBER)
    quota = made("ResourceQuota", {"hard": {"pods": "50"}}, name="quota")
    network = made("NetworkPolicy", {"podSelector": {}}, name="network")
    message = ": only the platform team may change these objects"
    cases.bad("a higher quota", {"spec": {"hard": {"pods": "99"}}}, f"ResourceQuota{message}", old=quota)
    cases.bad("no quota", {}, message, old=quota, operation="DELETE")
    cases.bad("an open network", made("NetworkPolicy", {"podSelector": {}, "ingress": [{}]}), message)
    cases.bad("a closed one gone", {}, message, old=network, operation="DELETE")
    cases.bad("limits", made("LimitRange", {"limits": []}), message)
    ends = made("EndpointSlice", addressType="IPv4", endpoints=[{"addresses": ["192.0.2.1"]}])
    cases.bad("another's address behind a Service", ends, message)
    behind = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]
    cases.bad("the same in the old way", made("Endpoints", subsets=behind), f"Endpoints{message}")
    cases.good("a quota of the platform", {"spec": {"hard": {"pods": "99"}}}, old=quota, user=User.PLATFORM)
    cases.good("an address by the controller", ends, user=User.PLATFORM)
    return cases.made


def _tenant_access() -> list[Case]:
    cases = _Cases(PolicyName.TENANT_ACCESS, user=User.MEMBER)
    only = "is not a service account of tenant dev-team; bind only service accounts of these namespaces: apps, apps-"
    cases.good("its own account", binding(account("ci")))
    cases.good("its other namespace's", binding(account("ci", LISTED)))
    cases.good("nobody", binding())
    cases.good("a role", made("Role", rules=[]))
    cases.good("a person by the platform", binding(person("User", "ann")), user=User.PLATFORM)
    cases.bad("a person", binding(account("ci"), person("User", "ann")), f"subjects: User ann {only}")
    cases.bad("everybody", binding(person("Group", "system:authenticated")), f"Group system:authenticated {only}")
    cases.bad("another tenant", binding(account("ci", FOREIGN)), f"subjects: ServiceAccount other/ci {only}")
    cases.bad("one more", {"subjects": [person("User", "ann")]}, only, old=binding(account("ci"), name="older"))
    for namespace, name in PLATFORM_ACCOUNTS:
        subject = binding(account(name, namespace))
        cases.bad(f"the platform's {namespace}/{name}", subject, f"subjects: ServiceAccount {namespace}/{name} {only}")
    for namespace, name in ONE_ACCOUNT_OF.items():
        user, group = f"system:serviceaccount:{namespace}:{name}", f"system:serviceaccounts:{namespace}"
        cases.bad(f"the user {user}", binding(person("User", user)), f"subjects: User {user} {only}")
        cases.bad(f"the group {group}", binding(person("Group", group)), f"subjects: Group {group} {only}")
    logins = {
        "transit-engine.auth.fluxcd.io/login-path": "auth/other/login",
        "transit-engine.auth.fluxcd.io/role": "production",
        "credential.auth.fluxcd.io/audiences": "https://vault.example.com",
        "auth.fluxcd.io/provider": "a",
    }
    for key, value in logins.items():
        chosen = made("ServiceAccount", name="login", annotations={key: value})
        message = f"metadata.annotations {key} select the logins, roles and audiences of the tokens that Flux creates"
        cases.bad(f"an account with {key}", chosen, message, user=User.TENANT)
    cases.bad("the same by a person", chosen, "auth.fluxcd.io/provider select")
    change = {"metadata": {"annotations": dict(list(logins.items())[:1])}}
    older = made("ServiceAccount", name="later")
    cases.bad("an annotation of an older account", change, "login-path select the logins", old=older, user=User.TENANT)
    cases.good("an account with it by the platform", chosen, user=User.PLATFORM)
    another = {"eks.amazonaws.com/role-arn": "a", "credential.example.io/auth.fluxcd.io": "b"}
    cases.good("another account", made("ServiceAccount", annotations=another), user=User.TENANT)
    cases.good("a secret", made("Secret", stringData={"a": "b"}), user=User.TENANT)
    token = made(
        "Secret",
        type="kubernetes.io/service-account-token",
        annotations={"kubernetes.io/service-account.name": TENANT},
    )
    cases.bad("a token for ever", token, "type kubernetes.io/service-account-token", user=User.TENANT)
    cases.good("a token for ever by the platform", token, user=User.PLATFORM)
    home = made("ServiceAccount", name=TENANT)
    request = made("TokenRequest", {"audiences": []}, name=TENANT)
    cases.bad(
        "a token",
        request,
        "service account tokens are issued only to pods",
        old=home,
        operation="CREATE",
        subresource="token",
    )
    cases.good(
        "a token by the platform", request, old=home, operation="CREATE", subresource="token", user=User.PLATFORM
    )
    # As a kubelet asks for what is mounted into a pod that runs on its node.
    mounts: Object = {
        "old": made("ServiceAccount", name="default"),
        "operation": "CREATE",
        "subresource": "token",
        "pod": pod(name="mounts", serviceAccountName="default", nodeName=NODE_NAME),
    }
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "mounts"}
    of_a_pod = made("TokenRequest", {"audiences": [], "boundObjectRef": reference}, name="default")
    cases.good("a pod's token by its node", of_a_pod, user=User.NODE, **mounts)
    cases.bad("a pod's token by its tenant", of_a_pod, "service account tokens are issued only to pods", **mounts)
    return cases.made


def _status_writes() -> list[Case]:
    cases = _Cases(PolicyName.STATUS_WRITES, user=User.MEMBER)
    message = "only Flux's controllers may write this status"
    source = git()
    source["metadata"]["name"] = "source"
    artifact = {"digest": "sha256:" + "0" * 64, "lastUpdateTime": "2026-01-01T00:00:00Z", "path": "a", "revision": "a"}
    forged = {"status": {"artifact": artifact | {"url": "http://evil.example.com/a"}}}
    cases.bad("a forged artifact", forged, f"GitRepository source: {message}", old=source, subresource="status")
    sync = kustomization(name="status")
    cases.bad("a forged result", {"status": {"observedGeneration": 9}}, message, old=sync, subresource="status")
    external = made("ExternalArtifact", {}, name="external")
    cases.bad("an artifact", made("ExternalArtifact", {}), message)
    cases.bad("an artifact gone", {}, message, old=external, operation="DELETE")
    cases.bad("an artifact's place", forged, message, old=external, subresource="status")
    cases.good("Flux's own", forged, old=source, subresource="status", user=User.PATCHER)
    cases.good("an artifact by the platform", made("ExternalArtifact", {}), user=User.PLATFORM)
    cases.good("the spec", {"spec": {"interval": "1h"}}, old=source)
    return cases.made + _kubernetes_status()


def _kubernetes_status() -> list[Case]:
    cases = _Cases(PolicyName.STATUS_WRITES, user=User.MEMBER)
    message = "only Kubernetes may write this status; change the spec instead"
    # Nobody schedules it, so that it stays where it is in a whole cluster, too.
    unbound = pod(name="unbound", schedulerName="nobody")
    target: Object = {"target": {"apiVersion": "v1", "kind": "Node", "name": "a"}}
    address: Object = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    for name, old, status in (
        ("a quota that is free again", made("ResourceQuota", {"hard": {"pods": "50"}}, name="free"), {"used": {}}),
        ("a pod that is elsewhere", unbound, {"podIP": "192.0.2.1"}),
        ("a volume of another size", claim(name="sized", storageClassName="fast"), {"capacity": {"storage": "1Mi"}}),
        ("a budget that allows nothing", disruption_budget(name="status"), {"disruptionsAllowed": 0}),
        ("a Deployment that is there", merged(deployment(), {"metadata": {"name": "status"}}), {"replicas": 1}),
    ):
        said = f"{old['kind']} {old['metadata']['name']}: {message}"
        cases.bad(name, {"status": status}, said, old=old, subresource="status")
    opened = merged(service(type="LoadBalancer"), {"metadata": {"name": "opened"}})
    cases.bad("an address of a Service", address, f"Service opened: {message}", old=opened, subresource="status")
    node = made("Binding", **target, name="unbound")
    cases.bad("a node", node, f"Binding unbound: {message}", old=unbound, operation="CREATE", subresource="binding")
    cases.bad("a node in the old way", node, f"Binding unbound: {message}")
    scheduler = {"user": User.SCHEDULER, "old": unbound}
    cases.good("a node by the scheduler", node, operation="CREATE", subresource="binding", **scheduler)
    pending = {"status": {"phase": "Pending", "message": "no node"}}
    cases.good("why there is no node", pending, subresource="status", **scheduler)
    cases.good("an address by a controller", address, old=opened, subresource="status", user=User.PATCHER)
    evicted = made("Eviction", name="unbound")
    revision = made("ControllerRevision", name="app", revision=1, data={"spec": {"template": {"spec": {}}}})
    forged = "ControllerRevision {}: only Kubernetes may write ControllerRevisions; remove it"
    cases.bad("what a StatefulSet never was", revision, forged.format("app"))
    older = merged(revision, {"metadata": {"name": "older"}})
    cases.bad("what it was, later", {"revision": 2}, forged.format("older"), old=older)
    cases.good("what it was, gone", {}, old=older, operation="DELETE")
    cases.good("what it was, by its controller", revision, user=User.CONTROLLER)
    cases.good("an eviction", evicted, old=unbound, operation="CREATE", subresource="eviction")
    web = made("Ingress", {"defaultBackend": {"service": {"name": "app", "port": {"number": 80}}}}, name="status")
    cases.good("an address by a controller of its own", address, old=web, subresource="status")
    message = "Ingress status: a change of its status must not change its labels, annotations, finalizers and owners"
    for name, metadata in {
        "a snippet": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": "a"}},
        "the platform's label": {"labels": {TENANT_LABEL: TENANT}},
        "a finalizer": {"finalizers": ["held.example.com/held"]},
        "an owner": {"ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": APPS, "uid": "a"}]},
    }.items():
        cases.bad(f"{name} beside an address", address | {"metadata": metadata}, message, old=web, subresource="status")
    return cases.made


def disruption_budget(*, name: str = "app", **spec: Any) -> Object:
    fields = {"selector": {"matchLabels": {"app": "app"}}} | (spec or {"maxUnavailable": 1})
    return made("PodDisruptionBudget", fields, name=name)


def _policy_objects() -> list[Case]:
    cases = _Cases(PolicyName.POLICY_OBJECTS, user=User.MEMBER)
    message = ": only the platform team may change objects of Kyverno"
    exception = {"policyRefs": [{"kind": "ValidatingPolicy", "name": "flux-tenancy-host-access"}]}
    cases.bad("an exception", made("PolicyException", exception), f"PolicyException{message}")
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    rules = {"matchConstraints": {"resourceRules": [pods]}, "validations": [{"expression": "true"}]}
    cases.bad("a policy", made("NamespacedValidatingPolicy", rules), message)
    rule = {
        "name": "a",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"pattern": {"kind": "Pod"}},
    }
    cases.bad("a policy of the old kind", made("Policy", {"rules": [rule]}), f"Policy{message}")
    older = made("PolicyException", exception, name="older")
    cases.bad("an exception gone", {}, message, old=older, operation="DELETE")
    cases.bad(
        "another exception", {"spec": {"policyRefs": [{"kind": "ValidatingPolicy", "name": "b"}]}}, message, old=older
    )
    cases.good("an exception of the platform", made("PolicyException", exception), user=User.PLATFORM)
    cases.good("a policy of the platform", made("NamespacedValidatingPolicy", rules), user=User.PLATFORM)
    return cases.made


def _ephemeral_containers() -> list[Case]:
    cases = _Cases(PolicyName.EPHEMERAL_CONTAINERS, user=User.MEMBER)
    running = pod(name="debugged")
    debug = {"spec": {"ephemeralContainers": [container() | {"name": "debug"}]}}
    message = "only the platform team may add ephemeral containers"
    cases.bad("by the tenant", debug, message, old=running, subresource="ephemeralcontainers")
    cases.bad(
        "elsewhere",
        debug,
        message,
        old=pod(name="debugged", namespace=LISTED, container={"image": "nginx"}),
        subresource="ephemeralcontainers",
    )
    cases.good("by the platform", debug, old=running, subresource="ephemeralcontainers", user=User.PLATFORM)
    cases.good("another change", {"metadata": {"labels": {"a": "b"}}}, old=running)
    return cases.made


def _grants() -> list[Case]:
    """What is allowed only with a grant: for all objects, for objects of a name, and elsewhere."""
    image = {"image": "registry.example.com/other/app:1"}
    tries: Mapping[PolicyName, tuple[Object, str]] = {
        PolicyName.VERIFIED_SOURCES: (git(), "spec.verify is missing"),
        PolicyName.NODE_PLACEMENT: (
            pod(container={"image": "registry.example.com/org/app:1"}, tolerations=[{"operator": "Exists"}]),
            "tolerations",
        ),
        PolicyName.DISRUPTION_BUDGETS: (disruption_budget(maxUnavailable=0), "the budget may allow no eviction"),
        PolicyName.ALLOWED_IMAGES: (pod(container=image), "is not an allowed image"),
    }
    found: list[Case] = []
    for policy, (attempt, message) in tries.items():
        cases = _Cases(policy, config="granted")
        cases.bad("without the exception", attempt, message)
        cases.bad("without the exception of another tenant", _at(attempt, FOREIGN), message)
        cases.good("with the exception", _at(attempt, GRANTED))
        cases.bad("asked as if without", merged(_at(attempt, GRANTED), _AS_WITHOUT), message)
        cases.good("of the excepted name", _at(attempt, NAMED_GRANTS, "legacy"))
        cases.good("generated from the excepted name", _at(attempt, NAMED_GRANTS, "legacy-7d9f-x2x4z"))
        cases.bad("of a name that begins like it", _at(attempt, NAMED_GRANTS, "legacyapp"), message)
        found += cases.made
    cases = _Cases(PolicyName.SERVICE_EXPOSURE, config="granted")
    balanced, opened = service(type="LoadBalancer"), service(type="NodePort")
    cases.good("of a granted type", _at(balanced, GRANTED))
    cases.good("of another granted type", _at(opened, GRANTED))
    cases.bad("of a type that is granted elsewhere", opened, "spec.type NodePort is not allowed")
    cases.bad("of a type that is granted to another tenant", _at(opened, FOREIGN), "spec.type NodePort is not allowed")
    cases.bad("asked as if without", merged(_at(opened, GRANTED), _AS_WITHOUT), "spec.type NodePort is not allowed")
    named = _at(service(type="ExternalName", externalName="a.example.com"), GRANTED)
    cases.bad("of a type that is not granted", named, "use one of these: ClusterIP, LoadBalancer, NodePort;")
    addressed = _at(merged(balanced, {"spec": {"loadBalancerIP": "192.0.2.7"}}), GRANTED)
    cases.bad("with an address of the tenant's choice", addressed, "spec.loadBalancerIP is not allowed")
    return [*found, *cases.made]


_AS_WITHOUT: Object = {"metadata": {"annotations": {WITHOUT_GRANTS: "true"}}}


def _at(object: Object, namespace: str, name: str = "app") -> Object:
    placed: Object = merged(object, {"metadata": {"namespace": namespace, "name": name}})
    return placed


def _flux_requests() -> list[Case]:
    cases = _Cases(PolicyName.FLUX_REQUESTS, config="listed", user=User.DEVELOPER)
    message = "you may patch it only to request a reconciliation"
    ask = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    suspend, resume = ({"spec": {"suspend": value}} for value in (True, None))
    marked = {"labels": {"a": "b"}, "annotations": {"a": "b"}}
    sync = merged(kustomization(name="requested", suspend=False, timeout="5m"), {"metadata": marked})
    release_, source = release(), git("https://git.example.com/org/requested")
    source["metadata"]["name"] = release_["metadata"]["name"] = "requested"
    for old in (sync, release_, source):
        kind = old["kind"]
        cases.good(f"asks for a reconciliation of a {kind}", ask, old=old)
        cases.good(f"suspends a {kind}", suspend, old=old)
        cases.good(f"resumes a {kind}", merged(ask, resume), old=old)
        cases.bad(f"changes the interval of a {kind}", {"spec": {"interval": "20m"}}, message, old=old)
    cases.good("forces a release", {"metadata": {"annotations": {"reconcile.fluxcd.io/forceAt": "now"}}}, old=release_)
    changes: Mapping[str, Object] = {
        "asks and changes the path": merged(ask, {"spec": {"path": "./b"}}),
        "takes a field": {"spec": {"timeout": None}},
        "adds a field": {"spec": {"force": True}},
        "changes another annotation": {"metadata": {"annotations": {"a": "c"}}},
        "adds another annotation": {"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}},
        "takes another annotation": {"metadata": {"annotations": {"a": None}}},
        "takes all annotations": {"metadata": {"annotations": None}},
        "adds a label": {"metadata": {"labels": {"reconcile.fluxcd.io/watch": "Enabled"}}},
        "takes a label": {"metadata": {"labels": {"a": None}}},
        "adds a finalizer": {"metadata": {"finalizers": ["controllers.example.com/cleanup"]}},
    }
    for name, change in changes.items():
        cases.bad(name, change, f"Kustomization requested: {message}", old=sync)
    unchanged = {key: sync[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "requested"}}
    cases.bad("applies what is there", unchanged, message, old=sync, applied=True)
    cases.bad("changes a URL", {"spec": {"url": "https://git.example.com/org/other"}}, message, old=source)
    path = {"spec": {"path": "./b"}}
    for user in (User.TENANT, User.MEMBER, User.PLATFORM, User.PATCHER):
        cases.good(f"{user} changes the path", path, old=sync, user=user)
    return cases.made


def _requests_about_the_platforms_objects() -> list[Case]:
    cases = _Cases(PolicyName.PLATFORM_OBJECTS, config="listed", user=User.DEVELOPER)
    sync = merged(kustomization(name="sync"), {"metadata": {"labels": PLATFORMS_OWN, "annotations": {"a": "b"}}})
    ask = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    message = "which marks platform objects"
    cases.good("a developer asks for a reconciliation", ask, old=sync)
    cases.bad("a developer suspends the sync", {"spec": {"suspend": True}}, message, old=sync)
    return cases.made


CASES: tuple[Case, ...] = tuple(
    case
    for part in (
        _allowed_kinds,
        _allowed_fields,
        _allowed_sources,
        _listed_sources,
        _source_options,
        _verified_sources,
        _notification_addresses,
        _notification_secrets,
        _lanes,
        _identities,
        _references,
        _timeouts,
        _controller_load,
        _services,
        _load_balancers,
        _host_access,
        _pod_identity,
        _node_placement,
        _priority_classes,
        _volume_claims,
        _volume_classes,
        _pod_volumes,
        _disruption_budgets,
        _ingresses,
        _allowed_images,
        _listed_images,
        _platform_objects,
        _unheld_deletion,
        _release_size,
        _tenant_namespace,
        _tenant_limits,
        _tenant_access,
        _status_writes,
        _policy_objects,
        _ephemeral_containers,
        _grants,
        _flux_requests,
        _requests_about_the_platforms_objects,
    )
    for case in part()
)
