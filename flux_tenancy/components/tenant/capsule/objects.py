"""A tenant of Capsule as plain manifests: its Tenant, its owner, and what is in the namespaces that it makes itself.

Capsule owns all namespaces of the tenant except its home. The stack's own namespaces get their objects from Pulumi, as
without Capsule; those that the tenant makes get them from Capsule, which replicates the limits as a service account
that may write nothing else, and binds the roles. Nobody but the platform can create anything there before the limits
are in place (`components.policies.native_only`).

Source: api/v1beta2, pkg/api/rules and internal/controllers of Capsule 0.14
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.installs.capsule import CAPSULE, CAPSULE_GROUP, NAMESPACE_DELETER
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule, rules_for, table, user_of
from flux_tenancy.components.tenant.annotations import account_annotations, namespace_annotations
from flux_tenancy.components.tenant.capsule.config import (
    CAPSULE_API,
    LIMIT_LABEL,
    NAMESPACE_READER,
    NODE_SELECTOR,
    OWNER,
    OWNER_OF_LABEL,
    REPLICATION,
    SELF_MADE,
    SETTINGS,
    TENANT,
    TENANT_OWNER,
    TenancyMode,
    made_prefix,
    proxy_objects,
)
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.freezes import freeze_annotations
from flux_tenancy.components.tenant.limits import limiting_objects, room_where_made
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.tenant.network import TenantNetwork, network_openings
from flux_tenancy.components.tenant.people import DEVELOPER, VIEWER, people_bindings
from flux_tenancy.components.tenant.role import cluster_role_for
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL, ObjectMeta

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.capsule.config import CapsuleLimits
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.tenant.limits import TenantLimits
    from flux_tenancy.components.tenant.scope import TenantScope

REPLICATOR = "flux-tenancy-replicator"
"""The service account as which Capsule writes limits, in Capsule's namespace, and its ClusterRole and binding."""

# How soon Capsule repairs what is missing or changed; in a new namespace it acts at once.
_RESYNC = "60s"


def replication_objects() -> list[Manifest]:
    """What all tenants of Capsule share: the replicator with its rights, and the role to read one's own namespace."""
    account = {"name": REPLICATOR, "namespace": CAPSULE.namespace}
    verbs = ["create", "delete", "get", "list", "patch", "update"]
    limits = rules_for(table("core: limitranges resourcequotas\n networking.k8s.io: networkpolicies"), verbs)
    subject = {"kind": "ServiceAccount", **account}
    return [
        rbac_role("ClusterRole", {"name": NAMESPACE_READER}, [rbac_rule("", ("namespaces",), ("get",))]),
        rbac_role("ClusterRole", {"name": REPLICATOR}, limits),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account, "automountServiceAccountToken": False},
        rbac_binding("ClusterRoleBinding", {"name": REPLICATOR}, REPLICATOR, [subject]),
    ]


def planned_capsule(tenant: TenantScope, others: Sequence[Planned]) -> Iterator[Planned]:
    """The tenant's Tenant, the limits in the namespaces that it makes, and its owner; nothing in another mode."""
    for each in proxy_objects(tenant.name, tenant.home, tenant.account, tenant.tenancy.capsule.proxy):
        yield Planned(Stage.ACCESS, each, room={})
    if tenant.tenancy.mode is TenancyMode.CAPSULE:
        yield Planned(Stage.CAPSULE, capsule_tenant(tenant))
        room = room_where_made(others, tenant.config.home)
        yield Planned(Stage.CAPSULE, _replication(tenant.name, tenant.config, tenant.tenancy, room))
        yield Planned(Stage.ACCESS, capsule_owner(tenant.name, tenant.config.home, tenant.account))


def capsule_tenant(tenant: TenantScope) -> Manifest:
    """The tenant's Tenant."""
    name, config, tenancy, account = tenant.name, tenant.config, tenant.tenancy, tenant.account
    limits = capsule_limits(config, tenancy)
    labels, annotations = made_metadata(
        name, config, limits, account, tenant.default_account, freeze_annotations(name, config, tenant.tenancy)
    )
    metadata = {
        "apiGroups": ["v1"],
        "kinds": ["Namespace"],
        "labels": {key: _fixed(value) for key, value in labels.items()},
        "annotations": {key: _fixed(value) for key, value in annotations.items()},
    }
    bindings = [] if config.is_leaving else _bindings(name, config, account)
    made: Manifest = {
        # A tenant's namespace has no such label yet when Capsule reads it first.
        "namespaceSelector": {
            "matchExpressions": [{"key": MANAGED_BY_LABEL, "operator": "NotIn", "values": [MANAGER]}]
        },
        "enforce": {"action": "allow", "metadata": [metadata]},
        **({"permissions": {"bindings": bindings}} if bindings else {}),
    }
    further = config.namespace_names[1:]
    spec: Manifest = {
        # Capsule refuses to create other names for the stack, too.
        "forceTenantPrefix": all(each.startswith(made_prefix(name)) for each in further),
        # Capsule looks for owners by this label anyway, but notices new and deleted ones only with selectors.
        # Source: SetupWithManager in internal/controllers/tenant/manager.go of Capsule 0.14
        "permissions": {"matchOwners": [{"matchLabels": {OWNER_OF_LABEL: name}}]},
        "namespaceOptions": {"quota": limits.namespaces},
        "rules": [made, _not_as_the_platform(config.home, account), *_shared_quota(limits)],
        **_classes(limits),
    }
    if limits.node_selector:
        spec["nodeSelector"] = dict(limits.node_selector)
    return _object(TENANT, name, {TENANT_LABEL: name}, spec)


def capsule_owner(name: str, home: str, account: str) -> Manifest:
    """The TenantOwner that lets the tenant's service account make namespaces."""
    spec = {
        "kind": "ServiceAccount",
        "name": user_of(home, account),
        # An empty list would become Capsule's default, which includes Kubernetes' `admin`.
        "clusterRoles": [NAMESPACE_READER],
        "aggregate": True,
    }
    return _object(TENANT_OWNER, name, {OWNER_OF_LABEL: name, TENANT_LABEL: name}, spec)


def required_limits(tenancy: TenancyConfig) -> list[tuple[str, str, str]]:
    """API version, kind and name (`LIMIT_LABEL`) of each limit of a namespace that a tenant makes."""
    limits = _limits("", tenancy.limits, {})
    return [(each["apiVersion"], each["kind"], each["metadata"]["labels"][LIMIT_LABEL]) for each in limits]


def bound_roles(tenants: Iterable[TenantConfig]) -> list[str]:
    """The names of the ClusterRoles that Capsule binds in the namespaces that these tenants make.

    Those of people are always among them, so that a new person changes nothing of Capsule.
    """
    return sorted({NAMESPACE_READER, VIEWER, DEVELOPER, *(cluster_role_for(each.role) for each in tenants)})


def capsule_limits(config: TenantConfig, tenancy: TenancyConfig) -> CapsuleLimits:
    """The tenant's own limits over those of all tenants."""
    return config.capsule.over(tenancy.capsule)


def made_metadata(
    name: str,
    config: TenantConfig,
    limits: CapsuleLimits,
    account: str,
    default_account: str,
    freezes: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations that each namespace gets that the tenant makes.

    They are those of the stack's namespaces, without what grants allow: a grant names namespaces that were reviewed.
    """
    labels = {TENANT_LABEL: name, **SELF_MADE, **pod_security_labels(PodSecurity.RESTRICTED)}
    annotations = namespace_annotations(config, grants=())
    annotations |= account_annotations(name, account, default_account) | {OWNER: user_of(config.home, account)}
    annotations |= freezes or {}
    keys = {*annotations, SETTINGS, *_set_by_capsule(limits)}
    return labels, annotations | {SETTINGS: " ".join(sorted(keys))}


def _set_by_capsule(limits: CapsuleLimits) -> list[str]:
    """The annotations that Capsule itself derives from a Tenant."""
    classes = {"ingress-classes": limits.ingress_classes, "storage-classes": limits.storage_classes}
    return [
        *([NODE_SELECTOR] if limits.node_selector else ()),
        *(f"{CAPSULE_GROUP}/{key}" for key, names in classes.items() if names),
    ]


def _fixed(value: str) -> Manifest:
    """A value that Capsule sets, and whose change it refuses."""
    return {"required": True, "managed": value, "values": [{"exact": [value]}]}


def _not_as_the_platform(home: str, account: str) -> Manifest:
    """Refuses that the tenant marks a namespace as the stack's own, which the first rule leaves alone."""
    marked = {MANAGED_BY_LABEL: {"values": [{"exact": [MANAGER]}]}}
    return {
        "audience": [{"kind": "ServiceAccount", "name": user_of(home, account)}],
        "enforce": {"action": "deny", "metadata": [{"apiGroups": ["v1"], "kinds": ["Namespace"], "labels": marked}]},
    }


def _shared_quota(limits: CapsuleLimits) -> list[Manifest]:
    return [{"quota": [{"name": "shared", "hard": dict(limits.quota)}]}] if limits.quota else []


def _classes(limits: CapsuleLimits) -> Manifest:
    by_field = {
        "storageClasses": limits.storage_classes,
        "priorityClasses": limits.priority_classes,
        "runtimeClasses": limits.runtime_classes,
    }
    fields: Manifest = {field: {"allowed": list(names)} for field, names in by_field.items() if names}
    if limits.ingress_classes:
        fields["ingressOptions"] = {"allowedClasses": {"allowed": list(limits.ingress_classes)}}
    return fields


def _bindings(name: str, config: TenantConfig, account: str) -> list[Manifest]:
    """Who may do what in a namespace that the tenant makes: its service account and its people."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": config.home}
    people = people_bindings(_made_meta(name), config.people)
    return [
        *(_binding(name, role, [subject]) for role in (cluster_role_for(config.role), NAMESPACE_DELETER)),
        *(_binding(name, each["roleRef"]["name"], each["subjects"]) for each in people),
    ]


def _binding(tenant: str, role: str, subjects: Iterable[Mapping[str, str]]) -> Manifest:
    return {"clusterRoleName": role, "subjects": [dict(each) for each in subjects], "labels": {TENANT_LABEL: tenant}}


def _replication(name: str, config: TenantConfig, tenancy: TenancyConfig, room: Mapping[str, int]) -> Manifest:
    """The limits of each namespace that the tenant makes, which Capsule writes as the replicator.

    Without a service account, Capsule would write them with its own rights.
    """
    meta = _made_meta(name)
    limits = [*_limits(name, config.limits.over(tenancy.limits), room), *network_openings(meta, config.network)]
    spec = {
        "tenantSelector": {"matchLabels": {TENANT_LABEL: name}},
        "scope": "Namespace",
        "serviceAccount": {"name": REPLICATOR, "namespace": CAPSULE.namespace},
        "resyncPeriod": _RESYNC,
        "pruningOnDelete": True,
        "settings": {"adopt": True, "force": True},
        "resources": [
            {
                "namespaceSelector": {"matchLabels": dict(SELF_MADE)},
                "rawItems": [_without_namespace(each) for each in limits],
            }
        ],
    }
    return _object(REPLICATION, f"flux-tenancy-{name}", {TENANT_LABEL: name}, spec)


def _limits(tenant: str, own: TenantLimits, room: Mapping[str, int]) -> list[Manifest]:
    """The limits of a namespace that a tenant makes, each labeled with its name without the tenant's."""
    meta = _made_meta(tenant)
    limits = limiting_objects(meta, own, TenantNetwork.DEFAULT_DENY, room)
    for each in limits:
        metadata = each["metadata"]
        name = metadata["name"].removeprefix(f"{meta.name}-")
        metadata["labels"] = metadata["labels"] | {LIMIT_LABEL: name}
    return limits


def _made_meta(tenant: str) -> ObjectMeta:
    """Metadata of the objects in each namespace that a tenant makes.

    Their names differ from those that Pulumi gives, so that a namespace can be added to the stack later: Capsule then
    deletes its objects, and Pulumi's stay.
    """
    return ObjectMeta(name=f"{tenant}-made", namespace="", labels={TENANT_LABEL: tenant})


def _without_namespace(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
    return manifest | {"metadata": metadata}


def _object(kind: str, name: str, labels: Mapping[str, str], spec: Manifest) -> Manifest:
    metadata = {"name": name, "labels": dict(labels)}
    return {"apiVersion": CAPSULE_API, "kind": kind, "metadata": metadata, "spec": spec}
