"""Requests that the tenancy policies check, as data: the user, the request, and whether it is refused.

They are in `cases.yaml` of each policy, about the objects of components/policies/case_objects.yaml. Those of lists that
Python reads as well are made from tests/support/allow_lists.py. The API server and a cluster get
the same table. Here are the namespaces, users and configurations that the cases name.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import POLICIES_FOLDER, PolicyName
from flux_tenancy.components.sync.notifications import PROVIDER_TYPES
from flux_tenancy.components.tenant.annotations import (
    BLOCKING_BUDGETS,
    CSI_DRIVERS,
    EXCEPTIONS,
    FREEZES,
    HOSTS,
    IMAGES,
    IMPLIED_ACCOUNT,
    KINDS,
    LANE,
    MAXIMUM_GRACE_PERIOD,
    MAXIMUM_RELEASE_SIZE,
    MAXIMUM_TIMEOUT,
    MAXIMUM_TOKEN_LIFETIME,
    MINIMUM_INTERVAL,
    NAMESPACES,
    NOTIFICATIONS,
    PRIORITY_CLASSES,
    SERVICE_ACCOUNT,
    SERVICE_TYPES,
    SOURCES,
    STORAGE_CLASSES,
    TOLERATIONS,
    VERIFIED,
)
from flux_tenancy.components.tenant.capsule.objects import REPLICATOR
from flux_tenancy.components.tenant.grants import SERVICE_EXPOSURE, ExceptedPolicy
from flux_tenancy.components.tenant.role import FLUX_KINDS, resources_of
from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL, Controller, account_of
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
WIDER, NARROWER = "apps-wider", "apps-narrower"
"""Namespaces with exceptions for all objects, and for those of a name."""
FROZEN, FROZEN_GRANTS, THAWED = "apps-frozen", "apps-frozen-grants", "apps-thawed"
"""Namespaces of a tenant in a freeze, with an exception from it, and between two others."""
GIT, SLACK, SENTRY = "apps-git", "apps-slack", "apps-hosts"
"""Namespaces of a tenant with a source, with a host of notifications, and with hosts below a domain."""

_ENFORCE = "pod-security.kubernetes.io/enforce"
_LABELS: dict[str, dict[str, str]] = {
    # Without Pod Security's label, so that it is the policies alone that refuse a pod.
    **dict.fromkeys(
        (
            *(APPS, LISTED, MANY, NAMED, IMPLIED, CLOSED, OPENED, EXAMPLE, LANED, GRANTED, NAMED_GRANTS, WIDER),
            *(NARROWER, FROZEN, FROZEN_GRANTS, THAWED, GIT, SLACK, SENTRY),
        ),
        {TENANT_LABEL: TENANT},
    ),
    BASELINE: {TENANT_LABEL: TENANT, _ENFORCE: "baseline"},
    PRIVILEGED: {TENANT_LABEL: TENANT, _ENFORCE: "privileged"},
    FOREIGN: {TENANT_LABEL: FOREIGN},
    "default-apps": {},
}
# A namespace for each entry of an allow-list in tests/support/allow_lists.py.
SOURCE_ENTRIES = {
    f"sources-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in SOURCE_ROWS))
}
_ALL_KINDS = " ".join(resources_of(FLUX_KINDS))
HOST_ENTRIES = {f"hosts-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in HOST_ROWS))}
IMAGE_ENTRIES = {f"images-{number}": entry for number, entry in enumerate(dict.fromkeys(row[0] for row in IMAGE_ROWS))}
NOW = "2026-12-25T12:00:00Z"
"""The time of all requests (`CLOCK`)."""
_FREEZE = f"{NOW} 2026-12-27T06:00:00Z holidays of the team"
CLOCK: Object = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "kustomize-controller-leader-election", "namespace": FLUX_NAMESPACE},
    "spec": {"holderIdentity": "kustomize-controller-0", "renewTime": NOW.replace("Z", ".000000Z")},
}
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
    WIDER: {
        MINIMUM_INTERVAL: "10s",
        MAXIMUM_TIMEOUT: "2h",
        MAXIMUM_RELEASE_SIZE: "512",
        MAXIMUM_GRACE_PERIOD: "6h",
        MAXIMUM_TOKEN_LIFETIME: "48h",
        BLOCKING_BUDGETS: "true",
        CSI_DRIVERS: "csi.example.com",
        PRIORITY_CLASSES: "bronze gold",
        STORAGE_CLASSES: "slow",
        TOLERATIONS: "node-role.kubernetes.io/edge",
    },
    NARROWER: {
        MINIMUM_INTERVAL: "10m",
        MAXIMUM_TIMEOUT: "10m",
        MAXIMUM_RELEASE_SIZE: "64",
        MAXIMUM_GRACE_PERIOD: "90s",
        MAXIMUM_TOKEN_LIFETIME: "1h",
        BLOCKING_BUDGETS: "false",
    },
    FROZEN: {FREEZES: "2027-01-01T00:00:00Z 2027-01-02T00:00:00Z later\n" + _FREEZE},
    FROZEN_GRANTS: {FREEZES: _FREEZE, EXCEPTIONS: "freeze"},
    THAWED: {FREEZES: f"2026-12-25T12:00:01Z 2027-01-02T00:00:00Z later\n2026-12-01T00:00:00Z {NOW} before"},
    GIT: {SOURCES: "https://git.example.com/org/*"},
    SLACK: {NOTIFICATIONS: "hooks.slack.com"},
    SENTRY: {NOTIFICATIONS: "*.ingest.sentry.io"},
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
                "includes": True,
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
            "networkPolicies": True,
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
    # In force without freezes, too.
    "frozen": PoliciesConfig.model_validate({"sources": {"allowed": ["*"]}, "modes": {"freeze": "enforce"}}),
    "granted": PoliciesConfig.model_validate(
        {
            "modes": {"freeze": "enforce"},
            "sources": {"allowed": ["*"], "verified": ["GitRepository"], "providers": ["azure"]},
            "images": {"allowed": ["registry.example.com/org/*"]},
        }
    ),
}
"""The configurations that the cases are about, by name."""
_WITH_OWN_LISTS = (
    PolicyName.POD_VOLUMES,
    PolicyName.PRIORITY_CLASSES,
    PolicyName.VOLUME_CLAIMS,
    PolicyName.VOLUME_CLASSES,
)
RELAXED: Mapping[str, frozenset[str]] = {
    "granted": frozenset({*ExceptedPolicy, SERVICE_EXPOSURE, PolicyName.SOURCE_OPTIONS, *_WITH_OWN_LISTS})
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
    WORKLOAD = "workload"
    """The service account of an operator of the tenant, bound to `cluster-admin` in its namespaces."""
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
        after: Object = merge_patch(self.old or {}, self.object)
        return after


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

OBJECTS: Mapping[str, Object] = {
    kind: {"kind": kind, **object}
    for kind, object in yaml.load((POLICIES_FOLDER / "case_objects.yaml").read_text(), FastLoader).items()
}
"""An object of each kind, as `create`, `update` and so on of a case name it."""


def moved(object: Object, namespace: str) -> Object:
    """The same object in another namespace."""
    result: Object = merge_patch(object, {"metadata": {"namespace": namespace}})
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
    """An object with nothing but this."""
    metadata: Object = {"name": name, "namespace": namespace}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    version = OBJECTS.get(kind, {}).get("apiVersion", "v1")
    result = {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}
    return result if spec is None else result | {"spec": merge_patch({}, spec)}


def _usual(kind: str, spec: Object, **metadata: Any) -> Object:
    """The object of a kind with other fields of its spec."""
    return made(kind, OBJECTS[kind]["spec"] | spec, **metadata)


def git(url: str = "https://git.example.com/org/app", *, namespace: str = APPS, **spec: Any) -> Object:
    return _usual("GitRepository", {"url": url, **spec}, namespace=namespace)


def oci(url: str = "oci://registry.example.com/org/app", *, namespace: str = APPS, **spec: Any) -> Object:
    return _usual("OCIRepository", {"url": url, **spec}, namespace=namespace)


def helm_repository(url: str = "https://charts.example.com/org", **spec: Any) -> Object:
    return _usual("HelmRepository", {"url": url, **spec})


def bucket(
    endpoint: str = "storage.example.com", name: str = "charts", *, namespace: str = APPS, **spec: Any
) -> Object:
    return _usual("Bucket", {"endpoint": endpoint, "bucketName": name, **spec}, namespace=namespace)


def chart(*, namespace: str = APPS, **spec: Any) -> Object:
    return _usual("HelmChart", spec, namespace=namespace)


def kustomization(*, name: str = "app", namespace: str = APPS, **spec: Any) -> Object:
    return _usual("Kustomization", spec, name=name, namespace=namespace)


def release(*, namespace: str = APPS, template: Object | None = None, **spec: Any) -> Object:
    chart = OBJECTS["HelmRelease"]["spec"]["chart"]["spec"] | (template or {})
    return _usual("HelmRelease", {"chart": {"spec": chart}} | spec, namespace=namespace)


def deployment(*, namespace: str = APPS, container: Object | None = None, **spec: Any) -> Object:
    template = OBJECTS["Deployment"]["spec"]["template"]
    [usual] = template["spec"]["containers"]
    pods = {"containers": [usual | (container or {})]} | spec
    return _usual("Deployment", {"template": template | {"spec": pods}}, namespace=namespace)


def service(**spec: Any) -> Object:
    return _usual("Service", spec)


def binding(*subjects: Object, labels: Object | None = None, name: str = "app") -> Object:
    role = OBJECTS["RoleBinding"]["roleRef"]
    return made("RoleBinding", name=name, labels=labels, roleRef=role, subjects=list(subjects))


def account(name: str, namespace: str = APPS) -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


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


# ---- cases ----


class _Row(BaseModel):
    """A case as a file has it.

    `create`, `update`, `apply` and `delete` name the object by its kind, or as `Namespace <name>`; `with` is a merge
    patch of it, and `change` is that of an update. `of` is the object of a request for a part of it.
    """

    model_config = ConfigDict(extra="forbid")

    allow: str = ""
    refuse: str = ""
    message: str | None = None
    config: str = "open"
    user: User = User.TENANT
    create: str = ""
    update: str = ""
    apply: str = ""
    delete: str = ""
    more: Object = Field({}, alias="with")
    change: Object = {}
    of: str = ""
    of_more: Object = Field({}, alias="ofWith")
    pod: str = ""
    pod_more: Object = Field({}, alias="podWith")
    subresource: str = ""
    leaving: bool = False

    def case(self, policy: PolicyName) -> Case:
        assert bool(self.allow) != bool(self.refuse) and bool(self.refuse) == bool(self.message), self
        [(operation, kind)] = [
            (operation, kind)
            for operation, kind in (
                ("CREATE", self.create),
                ("UPDATE", self.update),
                ("UPDATE", self.apply),
                ("DELETE", self.delete),
            )
            if kind
        ]
        object, pod = _object(kind, self.more), _object(self.pod, self.pod_more) if self.pod else None
        old: Object | None = object
        if operation == "CREATE":
            old = _object(self.of, self.of_more) if self.of else None
        else:
            object = _expanded(self.change, is_secret=kind == "Secret")
        return Case(
            policy,
            self.allow or self.refuse,
            operation,
            object,
            self.message,
            old,
            self.user,
            self.config,
            self.subresource,
            self.leaving,
            pod,
            bool(self.apply),
        )


def _object(kind: str, more: Object) -> Object:
    kind, _, namespace = kind.partition(" ")
    base = NAMESPACE_OBJECTS[namespace] if namespace else OBJECTS[kind]
    found: Object = merge_patch(base, _expanded(more, is_secret=kind == "Secret"))
    return found


def _expanded(patch: Object, *, is_secret: bool) -> Object:
    """A patch without the short forms for long values, and with the data of a Secret (`plain`) encoded."""
    whole: Object = _long(patch)
    if is_secret and "plain" in whole:
        plain = {key: encoded(value) for key, value in whole.pop("plain").items()}
        whole["data"] = whole.get("data", {}) | plain
    return whole


def encoded(value: str) -> str:
    return base64.b64encode(value.encode("latin-1")).decode()


def _long(value: Any, number: int | None = None) -> Any:
    """A value with `{repeat: a, times: 3}` as a text, `{each: x, times: 3}` as a list, numbered at `{n}`, and
    `{keys: 3, of: x}` as a mapping. A value that is only `{n}` is a number from 1."""
    match value:
        case {"repeat": str(part), "times": int(times)}:
            return f"{value.get('before', '')}{part * times}{value.get('after', '')}"
        case {"each": each, "times": int(times)}:
            return [_long(each, index) for index in range(times)]
        case {"keys": int(times), "of": each}:
            return {f"key{index}": each for index in range(times)}
        case dict():
            return {key: _long(each, number) for key, each in value.items()}
        case list():
            return [_long(each, number) for each in value]
        case "{n}" if number is not None:
            return number + 1
        case str() if number is not None:
            return value.replace("{n}", str(number))
    return value


def cases_of(policy: PolicyName) -> list[Case]:
    """The cases in a policy's folder."""
    file = POLICIES_FOLDER / policy.value / "cases.yaml"
    rows = yaml.load(file.read_text(), FastLoader) if file.exists() else []
    return [_Row.model_validate(row).case(policy) for row in rows]


def _of_lists() -> list[Case]:
    """What the lists of sources, images and hosts allow, to Python and to the policies."""
    sources, posted, kept = (
        _Cases(name, config="unlisted")
        for name in (PolicyName.ALLOWED_SOURCES, PolicyName.NOTIFICATION_ADDRESSES, PolicyName.NOTIFICATION_SECRETS)
    )
    images = _Cases(PolicyName.ALLOWED_IMAGES)
    of_sources, of_images, of_hosts = (
        {entry: name for name, entry in entries.items()} for entries in (SOURCE_ENTRIES, IMAGE_ENTRIES, HOST_ENTRIES)
    )
    for entry, url, allowed in SOURCE_ROWS:
        scheme, _, rest = url.partition("://")
        if scheme == "bucket":
            endpoint, _, name = rest.partition("/")
            source = bucket(endpoint, name, namespace=of_sources[entry])
        else:
            source = (oci if scheme == "oci" else git)(url, namespace=of_sources[entry])
        name = f"{url!r} of {entry}"
        sources.good(name, source) if allowed else sources.bad(name, source, "spec.")
    for entry, image, allowed in IMAGE_ROWS:
        name, running = f"{image} of {entry}", deployment(namespace=of_images[entry], container={"image": image})
        images.good(name, running) if allowed else images.bad(name, running, f"containers[].image: {image} is no")
    message = "the keys address and githubAppBaseURL of a Secret must be a single URL with https:// and an allowed host"
    for entry, address, allowed in HOST_ROWS:
        name, namespace = f"{address!r} of {entry}", of_hosts[entry]
        provider = made("Provider", {"type": "generic", "address": address}, namespace=namespace)
        secret = made("Secret", name="provider-slack", namespace=namespace, data={"address": encoded(address)})
        posted.good(name, provider) if allowed else posted.bad(name, provider, "spec.address ")
        kept.good(name, secret) if allowed else kept.bad(name, secret, message)
    return [*sources.made, *images.made, *posted.made, *kept.made]


CASES: tuple[Case, ...] = (*(case for policy in PolicyName for case in cases_of(policy)), *_of_lists())
