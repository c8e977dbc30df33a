"""What a stack intends of all that decides what tenants may do, taken from its offline render."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from flux_tenancy.components.cluster.config import rbac_subject
from flux_tenancy.components.config.types import is_reserved
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP, CREATED_BY_LABEL, NAMESPACE_DELETER
from flux_tenancy.components.installs.kyverno import WEBHOOK_LABEL
from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.kyverno_only import tenant_template
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.capsule.config import REPLICATION, SELF_MADE, TENANT, TENANT_OWNER
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.tenant.role import Role
from flux_tenancy.components.tenant.scope import service_account_name
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, POD_SECURITY_LABEL, TENANT_LABEL
from flux_tenancy.operations.drift.lists import NAMESPACE
from flux_tenancy.review.render.rendered import Render

Key = tuple[str, str]
"""Pulumi's type token of an object, and its name with its namespace."""

_GROUPS = (RBAC, "admissionregistration.k8s.io", "networking.k8s.io", CAPSULE_GROUP)
_KYVERNO = "kyverno.io"
_CORE = ("Namespace", "ResourceQuota", "LimitRange")
# What Capsule and Kyverno fill in, and keep up to date, has these labels.
_FILLED_IN = (CREATED_BY_LABEL, WEBHOOK_LABEL)


@dataclass(frozen=True)
class Intent:
    """What a stack intends.

    Attributes:
        objects: its objects that give or limit rights: namespaces, limits, roles and bindings, network policies,
            policies, webhooks, and Capsule's tenants.
    """

    config: StackConfig
    objects: Mapping[Key, Manifest]

    @classmethod
    def of(cls, render: Render, config: StackConfig) -> Intent:
        """What the render of a stack says."""
        manifests = [each.manifest for each in render.objects if each.is_kubernetes and _decides(each.manifest)]
        return cls(config, {key_of(each): each for each in manifests})

    @property
    def audited(self) -> list[PolicyName]:
        """The policies that are meant to refuse nothing."""
        return [each for each in PolicyName if self.config.policies.mode_of(each) is PolicyMode.AUDIT]

    def opened_to(self, tenant: str) -> frozenset[str]:
        """The kinds that the stack opens to a tenant, listed or not, as `tenancy.kinds` has them."""
        listed = self.config.tenants.get(tenant)
        return frozenset((*self.config.tenancy.kinds, *(listed.policies.kinds if listed is not None else ())))

    @cached_property
    def tenant_of(self) -> dict[str, str]:
        """The tenant of each namespace that the stack has."""
        return {
            name: self.objects[type_, name]["metadata"]["labels"][TENANT_LABEL]
            for type_, name in self.objects
            if type_ == NAMESPACE and TENANT_LABEL in self.objects[type_, name]["metadata"].get("labels", {})
        }

    def account_of(self, tenant: str) -> tuple[tuple[str, ...], str] | None:
        """The listed namespaces of a tenant, its home first, and its account; None if it is not listed, or leaving."""
        config = self.config.active_tenants.get(tenant)
        if config is None:
            return None
        return tuple(config.namespace_names), service_account_name(tenant, self.config.tenancy, config)

    @property
    def of_platform(self) -> list[Manifest]:
        """What belongs to no tenant."""
        return [each for each in self.objects.values() if not self._owner(each)]

    def of_tenant(self, tenant: str, unlisted: Mapping[str, Manifest]) -> dict[Key, Manifest]:
        """What a tenant has.

        Args:
            unlisted: its namespaces in the cluster that the stack does not list, by name.
        """
        own = {key: each for key, each in self.objects.items() if self._owner(each) == tenant}
        made = [each for namespace in unlisted.values() for each in self._of_unlisted(tenant, namespace)]
        return own | {key_of(each): each for each in made}

    def allows(self, namespace: Manifest) -> bool:
        """Whether a namespace may have a tenant's label although the stack does not list it."""
        return self._is_made(namespace) or self._is_onboarded(namespace)

    def made_bindings(self, tenant: str, account: Manifest) -> list[tuple[str, list[Manifest]]]:
        """The ClusterRoles that Capsule binds in a tenant's namespaces, each with its subjects.

        To the owner it binds what the TenantOwner says, and to its administrators what is its own default.

        Args:
            account: its service account as a subject.

        Source: `CollectOwners` in pkg/tenant and `RBACConfiguration` in api/v1beta2 of Capsule 0.14
        """
        capsule = self.config.capsule
        administrators = [rbac_subject(each) for each in capsule.administrators] if capsule is not None else []
        return [
            (NAMESPACE_DELETER, administrators),
            *(
                (role, [account])
                for each in self._of_capsule(TENANT_OWNER, tenant)
                for role in each["spec"]["clusterRoles"]
            ),
            *(
                (binding["clusterRoleName"], binding["subjects"])
                for each in self._of_capsule(TENANT, tenant)
                for rule in each["spec"]["rules"]
                for binding in rule.get("permissions", {}).get("bindings", ())
            ),
        ]

    def may_bind(self, tenant: str, namespace: str) -> bool:
        """Whether a tenant is meant to write role bindings in a namespace."""
        config = self.config.tenants.get(tenant)
        return config is not None and (config.role is not Role.TENANT or namespace in config.delegated_namespaces)

    def _owner(self, manifest: Manifest) -> str:
        metadata = manifest["metadata"]
        if (namespace := metadata.get("namespace", "")) in self.tenant_of:
            return self.tenant_of[namespace]
        return str((metadata.get("labels") or {}).get(TENANT_LABEL, ""))

    def _of_unlisted(self, tenant: str, namespace: Manifest) -> Iterator[Manifest]:
        name = namespace["metadata"]["name"]
        if self._is_made(namespace):
            yield from self._of_made(tenant, name)
        elif self._is_onboarded(namespace):
            yield _namespace(name, {POD_SECURITY_LABEL: PodSecurity.RESTRICTED})
            yield from filter(_decides, tenant_template(self.config.tenancy, self.config.flux, tenant, name))

    def _is_made(self, namespace: Manifest) -> bool:
        labels = namespace["metadata"].get("labels", {})
        return self.config.makes_namespaces and SELF_MADE.items() <= labels.items()

    def _is_onboarded(self, namespace: Manifest) -> bool:
        """Whether Kyverno provisions a namespace: it is no namespace of the cluster, and its tenant is not listed."""
        metadata = namespace["metadata"]
        tenant = metadata["labels"][TENANT_LABEL]
        return (
            self.config.policies.onboarding
            and tenant not in self.config.tenants
            and not is_reserved(tenant)
            and not is_reserved(metadata["name"])
            and metadata["labels"].get(MANAGED_BY_LABEL) != MANAGER
        )

    def _of_made(self, tenant: str, namespace: str) -> Iterator[Manifest]:
        """What Capsule puts into a namespace that a tenant makes, as its Tenant and its replication say."""
        for each in self._of_capsule(TENANT, tenant):
            for rule in each["spec"]["rules"]:
                for managed in rule.get("enforce", {}).get("metadata", ()):
                    if rule["enforce"]["action"] == "allow":
                        yield _namespace(namespace, *(_fixed(managed[part]) for part in ("labels", "annotations")))
        for each in self._of_capsule(REPLICATION, tenant):
            for resource in each["spec"]["resources"]:
                for item in resource["rawItems"]:
                    yield item | {"metadata": item["metadata"] | {"namespace": namespace}}

    def _of_capsule(self, kind: str, tenant: str) -> list[Manifest]:
        return [
            each
            for each in self.objects.values()
            if each["kind"] == kind and each["metadata"].get("labels", {}).get(TENANT_LABEL) == tenant
        ]


def key_of(manifest: Manifest) -> Key:
    """What identifies an object."""
    return resource_type(manifest), name_of(manifest)


def is_filled_in(manifest: Manifest) -> bool:
    """Whether Capsule or Kyverno fills an object in, so that the stack says only a part of it."""
    return any(label in manifest["metadata"].get("labels", {}) for label in _FILLED_IN)


def _decides(manifest: Manifest) -> bool:
    group, separator, _ = manifest["apiVersion"].rpartition("/")
    if not separator:
        return manifest["kind"] in _CORE
    return group in _GROUPS or group.endswith(_KYVERNO)


def _namespace(name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"name": name, "labels": dict(labels), "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _fixed(entries: Mapping[str, Manifest]) -> dict[str, str]:
    return {key: each["managed"] for key, each in entries.items()}
