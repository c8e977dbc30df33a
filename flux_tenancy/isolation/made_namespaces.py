"""Namespaces of tenants that no stack lists: made by a tenant with Capsule, or labelled for Kyverno to provision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.cluster.config import rbac_subject
from flux_tenancy.components.config.types import is_reserved
from flux_tenancy.components.installs.capsule import NAMESPACE_DELETER
from flux_tenancy.components.policies.kyverno_only import tenant_template
from flux_tenancy.components.rbac.subjects import subject_of, subjects_of
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.capsule.config import (
    BOUND_BY,
    BOUND_BY_LABEL,
    REPLICATION,
    SELF_MADE,
    TENANT,
    TENANT_OWNER,
)
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, POD_SECURITY_LABEL, TENANT_LABEL


@dataclass(frozen=True)
class MadeNamespaces:
    """What a stack says about namespaces that it does not list.

    Attributes:
        objects: those of the stack, of which Capsule's count.
    """

    config: StackConfig
    objects: Collection[Manifest]

    def allows(self, namespace: Manifest) -> bool:
        """Whether a namespace may have a tenant's label although the stack does not list it."""
        return self._is_made(namespace) or self._is_onboarded(namespace)

    def contents(self, namespace: Manifest) -> Iterator[Manifest]:
        """The namespace itself with what decides about it, and what Capsule or Kyverno puts into it."""
        metadata = namespace["metadata"]
        name, tenant = metadata["name"], metadata["labels"][TENANT_LABEL]
        if not self._is_made(namespace):
            yield _namespace(name, {POD_SECURITY_LABEL: PodSecurity.RESTRICTED})
            yield from tenant_template(self.config.tenancy, self.config.flux, tenant, name)
            return
        for rule in self._rules(tenant):
            for managed in rule.get("enforce", {}).get("metadata", ()):
                if rule["enforce"]["action"] == "allow":
                    yield _namespace(name, *(_fixed(managed[part]) for part in ("labels", "annotations")))
        for each in self._of_capsule(REPLICATION, tenant):
            for item in (item for resource in each["spec"]["resources"] for item in resource["rawItems"]):
                yield item | {"metadata": item["metadata"] | {"namespace": name}}

    def binds(self, tenant: str, account: Manifest, binding: Manifest) -> bool:
        """Whether Capsule has made a binding of what the tenant's Tenant says.

        It binds to the owner what the TenantOwner says, and to its administrators what is its own default.

        Args:
            account: the tenant's service account as a subject.

        Source: `CollectOwners` in pkg/tenant and `RBACConfiguration` in api/v1beta2 of Capsule 0.14
        """
        role = binding["roleRef"]
        if binding["metadata"].get("labels", {}).get(BOUND_BY_LABEL) != BOUND_BY or role["kind"] != "ClusterRole":
            return False
        capsule = self.config.capsule
        administrators = [rbac_subject(each) for each in capsule.administrators] if capsule is not None else []
        bound: list[tuple[str, list[Any]]] = [
            (NAMESPACE_DELETER, administrators),
            *(
                (name, [account])
                for each in self._of_capsule(TENANT_OWNER, tenant)
                for name in each["spec"]["clusterRoles"]
            ),
            *(
                (each["clusterRoleName"], each["subjects"])
                for rule in self._rules(tenant)
                for each in rule.get("permissions", {}).get("bindings", ())
            ),
        ]
        subjects = {subject for subject, _ in subjects_of(binding)}
        return any(role["name"] == name and subjects <= set(map(subject_of, whom)) for name, whom in bound)

    def _is_made(self, namespace: Manifest) -> bool:
        return self.config.makes_namespaces and SELF_MADE.items() <= namespace["metadata"].get("labels", {}).items()

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

    def _rules(self, tenant: str) -> Iterator[Manifest]:
        yield from (rule for each in self._of_capsule(TENANT, tenant) for rule in each["spec"]["rules"])

    def _of_capsule(self, kind: str, tenant: str) -> list[Manifest]:
        return [
            each
            for each in self.objects
            if each["kind"] == kind and each["metadata"].get("labels", {}).get(TENANT_LABEL) == tenant
        ]


def _namespace(name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"name": name, "labels": dict(labels), "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _fixed(entries: Mapping[str, Manifest]) -> dict[str, str]:
    return {key: each["managed"] for key, each in entries.items()}
