"""What the CEL of a `policy.yaml` may name in addition to its own values: values of the stack, and pieces of CEL.

Put here what several policies share, what this program decides by as well, and what is made of the tenants' role.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from flux_tenancy.components.allowlists.entries import (
    ADDRESS,
    BY_DIGEST,
    COMPARABLE_IMAGE,
    COMPARABLE_URL,
    HOST_PATTERN,
    IMAGE_PATTERN,
    PROBLEMS,
    URL_PATTERN,
    canonical_expression,
    field_of,
    origins_expression,
    repository_expression,
    text,
    unchanged,
)
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import RESERVED_PREFIXES
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.policies.config import ANY_TAINT, OWN_TAINTS, USUAL_TAINTS, PoliciesConfig
from flux_tenancy.components.policies.expressions import SAID, SAID_OF_FEEDING, TEMPLATE, is_cheap
from flux_tenancy.components.policies.notifications import decoded, to_urls
from flux_tenancy.components.policies.policy import (
    APPLIED_KEYS,
    FLUX_ACCOUNT,
    NAME,
    OBJECT,
    OWN_NAMESPACES,
    SUBRESOURCE,
    TENANT,
    WITH_GRANTS,
    labelled,
    listed,
    unrestricted,
    value_of,
    writable_resources,
)
from flux_tenancy.components.policies.rendering import NOW, changes
from flux_tenancy.components.sync.notifications import (
    BASE_URL,
    DEFAULT_ADDRESSES,
    FIXED_ADDRESSES,
    PROVIDER_TYPES,
    SECRET_FORMS,
    SECRET_KEYS,
    SECRET_STARTS,
)
from flux_tenancy.components.tenant.annotations import (
    BLOCKING_BUDGETS,
    CSI_DRIVERS,
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
    NOTIFICATIONS,
    PRIORITY_CLASSES,
    SERVICE_TYPES,
    SOURCES,
    STORAGE_CLASSES,
    TOLERATIONS,
    VERIFIED,
)
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, SELF_MADE, TenancyMode
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.tenant.network import NAMESPACE_NAME_LABEL
from flux_tenancy.components.tenant.role import (
    FLUX_KINDS,
    MANAGED,
    flux_kinds_by_group,
    group_resource,
    open_resources,
    resources_of,
    resources_of_rules,
)
from flux_tenancy.components.vocabulary.manifests import ResourceTable
from flux_tenancy.components.vocabulary.names import (
    DEFAULT_LANE,
    MANAGED_BY_LABEL,
    POD_SECURITY_LABEL,
    SECRET_SUFFIX,
    TENANT_LABEL,
)


class Cel(str):
    """A piece of CEL, unlike a text that becomes a literal."""


Place: TypeAlias = str | bool | int | None | Collection["Place"] | Mapping[str, "Place"]
"""What a name in a policy's CEL stands for."""


class Condition(StrEnum):
    """What is true of some stacks, and changes a policy there (`where`)."""

    RELAXED = "relaxed"
    """What the stack declares for its tenants is exempt from this policy: grants, certificates, lists of a tenant."""
    CAPSULE_PROXY = "capsule-proxy"
    MAKES_NAMESPACES = "tenants-make-namespaces"
    EVERY_CHART = "every-chart-is-open"
    STORAGE_CLASSES = "storage-classes-are-listed"
    TAINTS = "taints-are-listed"
    EVERY_TAINT = "every-taint-is-listed"
    NETWORK_POLICIES = "tenants-write-network-policies"


def conditions(config: PoliciesConfig, tenancy: TenancyConfig) -> frozenset[Condition]:
    """What is true of a stack; `relaxed` depends on the policy as well."""
    found = {
        Condition.CAPSULE_PROXY: tenancy.capsule.proxy is not None,
        Condition.MAKES_NAMESPACES: tenancy.mode is TenancyMode.CAPSULE,
        Condition.EVERY_CHART: "HelmChart" in tenancy.kinds,
        Condition.STORAGE_CLASSES: config.storage_classes is not None,
        Condition.TAINTS: config.tolerations is not None,
        Condition.NETWORK_POLICIES: config.network_policies,
        Condition.EVERY_TAINT: ANY_TAINT in (config.tolerations or ()),
    }
    return frozenset(condition for condition, is_true in found.items() if is_true)


def places(config: PoliciesConfig, tenancy: TenancyConfig) -> Mapping[str, Place]:
    """The values of a stack, by the names that they have in a policy's CEL."""
    providers = config.sources.providers
    priorities = config.priority_classes
    return {
        **shared_places(),
        **dict(_settings(config, "policies")),
        "anyImage": Cel(unrestricted(IMAGES, config.images.allowed)),
        "anyHost": Cel(unrestricted(HOSTS, config.ingress.hosts)),
        "anyStorageClass": Cel(unrestricted(STORAGE_CLASSES, config.storage_classes)),
        "anyTag": not config.images.digests,
        "balancersAllowed": "LoadBalancer" in config.service_types,
        "bucketRegions": ", ".join(config.sources.bucket_regions),
        "httpsAnd": "" if config.notifications.plain_http else "https:// and ",
        "maximumSizes.objectBytes": config.maximum_sizes.object * 1024,
        "kinds.opened": (*resources_of(tenancy.kinds), *resources_of_rules(tenancy.extra_rules)),
        "priorityRemedy": "remove it" + (f" or use one of these: {', '.join(priorities)}" if priorities else ""),
        "serviceTypes": ", ".join(config.service_types),
        "tenant.maximumReleaseSize": Cel(value_of(MAXIMUM_RELEASE_SIZE, text(str(config.maximum_release_size)))),
        "tenant.maximumGracePeriod": Cel(value_of(MAXIMUM_GRACE_PERIOD, text(config.maximum_termination_grace_period))),
        "tenant.maximumTokenLifetime": Cel(value_of(MAXIMUM_TOKEN_LIFETIME, text(config.maximum_token_lifetime))),
        "tenant.maximumTimeout": Cel(value_of(MAXIMUM_TIMEOUT, text(config.maximum_timeout))),
        "tenant.mayBlock": Cel(value_of(BLOCKING_BUDGETS, text(str(config.blocking_disruption_budgets).lower()))),
        "tenant.minimumInterval": Cel(value_of(MINIMUM_INTERVAL, text(config.minimum_interval))),
        "tokenServices": tuple(name for name in providers if name == "aws"),
    }


def _settings(section: Section, key: str) -> Iterator[tuple[str, Any]]:
    """Every setting below a section by its key, as the file of a stack has it."""
    for name, field in type(section).model_fields.items():
        value, named = getattr(section, name), f"{key}.{field.alias}"
        yield from _settings(value, named) if isinstance(value, Section) else ((named, value),)


_AZURE_SECRET = "^bucket-azure(-|$)"
# In characters of base64: a service account's key of 4,096 bits.
_LONGEST_KEY = 5600
# The annotation overrides the newer field. The last is not a valid name of a class.
# Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class
_CLASS_ANNOTATION, _NO_CLASS = "volume.beta.kubernetes.io/storage-class", "-"

# The PodSpec of a Pod or of a workload with a template, as in `Policy.reads`: an optional value. Controllers write to
# these all the time, so policies check an object only when its PodSpec changes.
POD = (
    "({object}.kind == 'Pod' ? {object}.?spec : {object}.kind == 'CronJob' "
    "? {object}.?spec.?jobTemplate.?spec.?template.?spec : {object}.?spec.?template.?spec)"
)
_POD_LISTS = ("containers", "initContainers", "ephemeralContainers")
_PATH = (
    "object.kind == 'Pod' ? 'spec.' : object.kind == 'CronJob' ? 'spec.jobTemplate.spec.template.spec.' "
    ": 'spec.template.spec.'"
)
_RESOURCE = (
    "(request.resource.group == '' ? request.resource.resource : "
    "request.resource.resource + '.' + request.resource.group)"
)
_CLAIMS_OF_VOLUMES = ".filter(volume, has(volume.ephemeral)).map(volume, volume.ephemeral.volumeClaimTemplate)"
_LISTS = {
    "csiDrivers": CSI_DRIVERS,
    "hosts": HOSTS,
    "images": IMAGES,
    "kinds": KINDS,
    "notifications": NOTIFICATIONS,
    "priorityClasses": PRIORITY_CLASSES,
    "serviceTypes": SERVICE_TYPES,
    "sources": SOURCES,
    "storageClasses": STORAGE_CLASSES,
    "tolerations": TOLERATIONS,
    "verified": VERIFIED,
}

# What follows the tenant's name in the names of its roles, bindings and service accounts that the platform creates.
# Those of Flux's controllers have the form `flux-…`.
_ACCESS_SUFFIX = "-(decryption|delegation|developers|grants|reconciler|viewers)$"


@cache
def shared_places() -> Mapping[str, Place]:
    """What is the same for all stacks."""
    now, before = templates("object"), templates("oldObject")
    pods = " + ".join(f"variables.pod.?{each}.orValue([])" for each in _POD_LISTS)
    values: dict[str, Place] = {
        "appliedKeys": APPLIED_KEYS,
        "cheap": SAID,
        "cheapForOthers": SAID_OF_FEEDING,
        "decodedKeys": ("address", BASE_URL, *SECRET_FORMS),
        "defaultAddresses": DEFAULT_ADDRESSES,
        "defaultTypes": tuple(DEFAULT_ADDRESSES),
        "fixedAddresses": FIXED_ADDRESSES,
        "fixedTypes": tuple(FIXED_ADDRESSES),
        "kinds.names": {resource: kind for kind in FLUX_KINDS for resource in resources_of([kind])},
        "kinds.open": open_resources(),
        "made.labels": (CAPSULE_TENANT_LABEL, MANAGED_BY_LABEL, NAMESPACE_NAME_LABEL, TENANT_LABEL, *_POD_SECURITY),
        "patterns.accessEnd": f"^{_ACCESS_SUFFIX}",
        "patterns.accessName": f"^flux-|{_ACCESS_SUFFIX}",
        "patterns.accessSuffix": _ACCESS_SUFFIX,
        "patterns.address": ADDRESS,
        "patterns.azureSecret": _AZURE_SECRET,
        "patterns.digest": BY_DIGEST,
        "patterns.host": HOST_PATTERN,
        "patterns.image": COMPARABLE_IMAGE,
        "patterns.imageEntry": IMAGE_PATTERN,
        "patterns.ownTaints": OWN_TAINTS,
        "patterns.secret": f"^({'|'.join(f'{key}={form}' for key, form in SECRET_FORMS.items())})$",
        # Of a further source, its name comes first, after a dot.
        "patterns.secretName": f"^([.].*)?{SECRET_SUFFIX}",
        "patterns.secretSuffix": SECRET_SUFFIX,
        "patterns.source": URL_PATTERN,
        "patterns.template": TEMPLATE,
        "patterns.url": COMPARABLE_URL,
        "providerTypes": tuple(PROVIDER_TYPES),
        "reservedPrefixes": RESERVED_PREFIXES,
        "secretKeys": SECRET_KEYS,
        "secretStarts": SECRET_STARTS,
        "problemsOfUrls": PROBLEMS,
        "usualTaints": USUAL_TAINTS,
        "writableResources": tuple(
            group_resource(each.group, name) for each in writable_resources() for name in each.names
        ),
    }
    cel = {
        "ask": text("; ask the platform team if you need it"),
        "changesPod": changes(POD),
        "changesSpec": changes("{object}.?spec"),
        "containers": pods,
        "decoded": decoded(),
        "decodedInFull": decoded(_LONGEST_KEY),
        "fluxAccount": FLUX_ACCOUNT,
        "foreignFinalizers": _foreign_finalizers("metadata", "[object]", "[oldObject]"),
        "freezes": value_of(FREEZES, text("")),
        "impliedAccount": value_of(IMPLIED_ACCOUNT, text("")),
        "kindAndName": OBJECT,
        "now": NOW,
        "level": f"namespaceObject.metadata.?labels[?{text(POD_SECURITY_LABEL)}].orValue('restricted')",
        "made.isLabelled": " && ".join(
            f"object.metadata.?labels[?{text(key)}].orValue('') == {text(value)}"
            for key, value in (SELF_MADE | _POD_SECURITY).items()
        ),
        "name": NAME,
        "ownNamespaces": OWN_NAMESPACES,
        "path": _PATH,
        "pod": POD.format(object="object"),
        "podOf": POD,
        "resource": _RESOURCE,
        "subresource": SUBRESOURCE,
        "templates.all": " + ".join(now.values()),
        "templates.foreignFinalizers": " + ".join(
            _foreign_finalizers(f"{path}.metadata", now[path], before[path]) for path in now
        ),
        "templates.labelled": " || ".join(f"{each}.exists(template, {labelled('template')})" for each in now.values()),
        "tenant": TENANT,
        "tenant.lane": value_of(LANE, text(DEFAULT_LANE)),
        "toCanonical": canonical_expression(),
        "toOrigins": origins_expression(),
        "toRepositories": repository_expression(),
        "toUrls": to_urls(),
        "unchanged": unchanged("metadata"),
        "volumes": "variables.pod.?volumes.orValue([])",
        "withGrants": WITH_GRANTS,
        **{f"tenant.{name}": listed(annotation) for name, annotation in _LISTS.items()},
        **{f"classOf.{claim}": _class_of(claim) for claim in ("claim", "object", "oldObject")},
        "cheap.claims": is_cheap("each.?expression.orValue('')", feeds_others=True),
        **{f"cheap.{name}": is_cheap(f"each.?{name}.orValue('')") for name in _EXPRESSIONS_OF_ENTRIES},
        **{f"cheap.{name}": is_cheap(f"{field_of('object.spec', name)}.orValue('')") for name in _EXPRESSIONS},
    }
    return values | {name: Cel(each) for name, each in cel.items()}


_POD_SECURITY = pod_security_labels(PodSecurity.RESTRICTED)
_EXPRESSIONS, _EXPRESSIONS_OF_ENTRIES = (
    ("commitStatusExpr", "resourceFilter"),
    ("current", "failed", "filter", "inProgress", "readyExpr"),
)


def _class_of(claim: str) -> str:
    """CEL for the effective class of a claim or of its template."""
    return (
        f"{claim}.?metadata.?annotations[?{text(_CLASS_ANNOTATION)}]"
        f".orValue({claim}.spec.?storageClassName.orValue({text(_NO_CLASS)}))"
    )


# Kubernetes copies labels and finalizers of the pods' template, labels of the others, and a claim template as a whole;
# helm-controller copies the labels of the chart, and source-watcher `commonMetadata`.
# Source: GetPodFromTemplate in pkg/controller/controller_utils.go, getJobFromTemplate2 in pkg/controller/cronjob and
# getPersistentVolumeClaims in pkg/controller/statefulset of Kubernetes 1.36; HelmChartTemplate in api/v2 of
# helm-controller, CommonMetadata in api/v1beta1 of source-watcher
_PATHS = ("spec.template", "spec.jobTemplate", "spec.jobTemplate.spec.template", "spec.chart")
_CLAIMS, _COMMON = "spec.volumeClaimTemplates", "spec.commonMetadata"


def templates(part: str) -> Mapping[str, str]:
    """CEL for lists of all templates in an object, each with `metadata`, by their paths.

    Args:
        part: CEL for the object, `object` or `oldObject`.
    """
    return {
        **{path: f"[?{field_of(part, path)}]" for path in _PATHS},
        f"{_CLAIMS}[]": f"{field_of(part, _CLAIMS)}.orValue([])",
        _COMMON: f"[?{field_of(part, _COMMON)}.optMap(common, {{'metadata': common}})]",
        "volumes[].ephemeral.volumeClaimTemplate": f"{POD.format(object=part)}.?volumes.orValue([])"
        f"{_CLAIMS_OF_VOLUMES}",
    }


def _foreign_finalizers(path: str, parts: str, before: str) -> str:
    """CEL for a list of texts: the finalizers there that are neither known nor older than the request."""
    finalizers = "{}.?metadata.?finalizers.orValue([])"
    older = f"request.operation == 'UPDATE' && {before}.exists(old, finalizer in {finalizers.format('old')})"
    return (
        f"{parts}.map(part, {finalizers.format('part')}.filter(finalizer, !(finalizer in variables.known || {older}))"
        f".join(', ')).filter(names, names != '').map(names, {text(f'{path}.finalizers has ')} + names)"
    )


@cache
def resource_lists() -> Mapping[str, ResourceTable]:
    """Resources of several API groups, by the names that `resources` of a policy has for them."""
    flux = tuple((group, names) for group, names in MANAGED if group.endswith(".fluxcd.io"))
    return {
        "flux": flux,
        "flux-kinds": flux_kinds_by_group(),
        "laned": tuple(LANED_RESOURCES.items()),
        "flux-statuses": tuple((group, ("*/status",)) for group in dict.fromkeys(group for group, _ in flux)),
        "workloads": (
            ("", ("pods", "pods/ephemeralcontainers", "replicationcontrollers")),
            ("apps", ("daemonsets", "deployments", "replicasets", "statefulsets")),
            ("batch", ("cronjobs", "jobs")),
        ),
        "writable": tuple((each.group, each.names) for each in writable_resources()),
    }
