"""What Kyverno and Capsule make of the stack's objects: namespaces that the stack does not list, and what is in them.

Both do what objects of the stack tell them, which the state has. Labels explain nothing: anybody can write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from flux_tenancy.components.config.types import is_reserved
from flux_tenancy.components.installs.capsule import CAPSULE, NAMESPACE_DELETER
from flux_tenancy.components.installs.kyverno import generated_by
from flux_tenancy.components.rbac.rights import RoleReference, role_of
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind, subject_of, subjects_of
from flux_tenancy.components.tenant.capsule.config import (
    CAPSULE_TENANT_LABEL,
    REPLICATION,
    SELF_MADE,
    TENANT,
    TENANT_OWNER,
)
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, selects
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, POD_SECURITY_LABEL, TENANT_LABEL
from flux_tenancy.operations.drift.foreign_grants import ROLE_BINDING
from flux_tenancy.operations.drift.lists import NAMESPACE, Lists
from flux_tenancy.operations.drift.recorded_state import RecordedState


class Generated:
    """What they make of the objects of a stack.

    Args:
        recorded: what the last update has applied.
    """

    def __init__(self, recorded: RecordedState) -> None:
        self._objects = [each.inputs for each in recorded.objects]
        self._releases = recorded.releases
        self._namespaces = {name_of(each.inputs): each.inputs for each in recorded.objects if each.type == NAMESPACE}

    def allows(self, namespace: Manifest) -> bool:
        """Whether a namespace may have a tenant's label although the stack does not list it."""
        return name_of(namespace) not in self._namespaces and (
            self._is_made(namespace) or self._is_onboarded(namespace)
        )

    def contents(self, namespace: Manifest) -> Iterator[Manifest]:
        """Such a namespace itself with what decides about it, and what Capsule or Kyverno puts into it."""
        name, tenant = name_of(namespace), tenant_of(namespace)
        if not self._is_made(namespace):
            yield _namespace(name, {POD_SECURITY_LABEL: PodSecurity.RESTRICTED})
            yield from self._provisioned(namespace)
            return
        for rule in self._rules(tenant):
            for managed in rule.get("enforce", {}).get("metadata", ()):
                if rule["enforce"]["action"] == "allow":
                    yield _namespace(name, *(_fixed(managed[part]) for part in ("labels", "annotations")))
        for each in self._of_capsule(REPLICATION, tenant):
            for item in (item for resource in each["spec"]["resources"] for item in resource["rawItems"]):
                yield item | {"metadata": item["metadata"] | {"namespace": name}}

    def bindings(self, lists: Lists) -> set[tuple[str, str]]:
        """Type and `namespace/name` of the RoleBindings that give what Kyverno or Capsule gives there, and no more."""
        made = {name_of(each): each for each in lists.get(NAMESPACE, ()) if self.allows(each)}
        bound = {name: list(self._bound(each)) for name, each in (made | self._namespaces).items()}
        return {
            (ROLE_BINDING, name_of(each))
            for each in lists.get(ROLE_BINDING, ())
            for role, subjects in bound.get(each["metadata"]["namespace"], ())
            if role_of(each) == role and {subject for subject, _ in subjects_of(each)} <= subjects
        }

    def _bound(self, namespace: Manifest) -> Iterator[tuple[RoleReference, set[Subject]]]:
        """What they bind in a namespace; one of the stack's is given as the stack applies it.

        Capsule binds to the owner what the TenantOwner says, to its administrators what is its own default, and what
        the rules of the Tenant say.

        Source: `CollectOwners` in pkg/tenant and `RBACConfiguration` in api/v1beta2 of Capsule 0.14
        """
        labels, tenant = _labels(namespace), tenant_of(namespace)
        if self._is_onboarded(namespace):
            for each in self._provisioned(namespace):
                if each["kind"] == "RoleBinding":
                    yield role_of(each), {subject for subject, _ in subjects_of(each)}
        elif self._is_made(namespace) or CAPSULE_TENANT_LABEL in labels:
            yield _cluster_role(NAMESPACE_DELETER), set(self._administrators())
            for owner in self._of_capsule(TENANT_OWNER, tenant):
                for name in owner["spec"]["clusterRoles"]:
                    yield _cluster_role(name), {_user(owner["spec"])}
            for rule in self._rules(tenant):
                if selects(rule.get("namespaceSelector") or {}, labels):
                    for each in rule.get("permissions", {}).get("bindings", ()):
                        yield _cluster_role(each["clusterRoleName"]), set(map(subject_of, each["subjects"]))

    def _is_made(self, namespace: Manifest) -> bool:
        """Whether a tenant of Capsule has made a namespace."""
        return SELF_MADE.items() <= _labels(namespace).items() and any(self._of_capsule(TENANT, tenant_of(namespace)))

    def _is_onboarded(self, namespace: Manifest) -> bool:
        """Whether Kyverno provisions a namespace: it is no namespace of the cluster, and its tenant is not listed."""
        tenant = tenant_of(namespace)
        return (
            bool(self._policies)
            and tenant is not None
            and tenant not in map(tenant_of, self._namespaces.values())
            and not is_reserved(tenant)
            and not is_reserved(name_of(namespace))
            and _labels(namespace).get(MANAGED_BY_LABEL) != MANAGER
        )

    @cached_property
    def _policies(self) -> list[Manifest]:
        return [each for each in self._objects if each["kind"] == "GeneratingPolicy"]

    def _provisioned(self, namespace: Manifest) -> Iterator[Manifest]:
        for each in self._policies:
            yield from generated_by(each, str(tenant_of(namespace)), name_of(namespace))

    def _administrators(self) -> Iterator[Subject]:
        for each in self._releases:
            if each.get("namespace") == CAPSULE.namespace:
                yield from map(_user, each["values"]["manager"]["options"]["administrators"])

    def _rules(self, tenant: str | None) -> Iterator[Manifest]:
        yield from (rule for each in self._of_capsule(TENANT, tenant) for rule in each["spec"]["rules"])

    def _of_capsule(self, kind: str, tenant: str | None) -> Iterator[Manifest]:
        return (each for each in self._objects if each["kind"] == kind and tenant_of(each) == tenant)


def tenant_of(found: Manifest) -> str | None:
    """The tenant that an object has in its label."""
    return _labels(found).get(TENANT_LABEL)


def tenants_by_namespace(namespaces: Iterable[Manifest]) -> dict[str, str | None]:
    """The tenant of each namespace, None of those of the platform."""
    return {name_of(each): tenant_of(each) for each in namespaces}


def _labels(found: Manifest) -> Mapping[str, str]:
    return found["metadata"].get("labels") or {}


def _cluster_role(name: str) -> RoleReference:
    return "ClusterRole", "", name


def _user(user: Mapping[str, Any]) -> Subject:
    """Whom Capsule means by a user, which is an account's name as the API server knows it."""
    return subject_of({**user, "kind": SubjectKind.USER} if user["kind"] == SubjectKind.ACCOUNT else user)


def _namespace(name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"name": name, "labels": dict(labels), "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _fixed(entries: Mapping[str, Manifest]) -> dict[str, str]:
    return {key: each["managed"] for key, each in entries.items()}
