"""Roles and bindings as manifests, tables of resources, and whom a binding reaches.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest, ResourceTable


def table(text: str) -> ResourceTable:
    """A table of resources: `core: pods services apps: deployments`."""
    rows: list[tuple[str, list[str]]] = []
    for word in text.split():
        if word.endswith(":"):
            rows.append(("" if word == "core:" else word[:-1], []))
        else:
            rows[-1][1].append(word)
    return tuple((group, tuple(names)) for group, names in rows)


def rbac_rule(group: str, resources: Iterable[str], verbs: Iterable[str], names: Collection[str] = ()) -> Manifest:
    """A rule of a role; names limit it to some objects."""
    found = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return found | ({"resourceNames": list(names)} if names else {})


def rules_for(rows: Iterable[tuple[str, Iterable[str]]], verbs: Sequence[str]) -> list[Manifest]:
    """The rules of a role that allow these verbs."""
    return [rbac_rule(group, resources, verbs) for group, resources in rows]


def rbac_role(kind: str, metadata: Manifest, rules: Iterable[Manifest]) -> Manifest:
    """A Role or ClusterRole."""
    return {"apiVersion": RBAC_API, "kind": kind, "metadata": metadata, "rules": list(rules)}


def rbac_binding(
    kind: str, metadata: Manifest, name: str, subjects: Iterable[Manifest], role_kind: str = "ClusterRole"
) -> Manifest:
    """A RoleBinding or ClusterRoleBinding to a role of this name."""
    return {
        "apiVersion": RBAC_API,
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": name},
        "subjects": list(subjects),
    }


_ACCOUNT = "system:serviceaccount:"
ALL_ACCOUNTS = "system:serviceaccounts"
EVERYBODY = (ALL_ACCOUNTS, "system:authenticated", "system:unauthenticated")
"""Groups that every pod belongs to: without a token, it is the user `system:anonymous`."""
PUBLIC_NAMESPACE = "kube-public"
"""By design, everybody may read what is there."""
# What Kubernetes binds to everybody, each to the role of the same name, so that clients find the API and themselves.
_OF_KUBERNETES = (
    "system:basic-user",
    "system:cluster-trust-bundle-discovery",
    "system:discovery",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
)


def user_of(namespace: str, account: str) -> str:
    """The user name of a service account."""
    return f"{_ACCOUNT}{namespace}:{account}"


class SubjectKind(StrEnum):
    """What kind of subject has a right."""

    TENANT = "tenant"
    """The service account that Flux impersonates for a tenant."""
    ACCOUNT = "ServiceAccount"
    USER = "User"
    GROUP = "Group"
    ROLE = "role"
    """Everyone with a role of Kubernetes, which ClusterRoles of the stack add to."""


@dataclass(frozen=True, order=True)
class Subject:
    """Who has a right.

    Attributes:
        namespace: of a service account; empty for others.
    """

    kind: SubjectKind
    name: str
    namespace: str = ""

    @property
    def is_everybody(self) -> bool:
        """Whether every pod of the cluster is meant."""
        return (self.kind is SubjectKind.GROUP and self.name in EVERYBODY) or (
            self.kind is SubjectKind.USER and self.name == "system:anonymous"
        )

    @property
    def within(self) -> str:
        """The namespace of an account, or of the group of all accounts in it; empty for others."""
        prefix, _, namespace = self.name.rpartition(":")
        if self.kind is SubjectKind.GROUP:
            return namespace if prefix == ALL_ACCOUNTS else ""
        return self.namespace


def subject_of(subject: Mapping[str, str], namespace: str = "") -> Subject:
    """The subject of a binding; an account may be given by its user name, and is by default in the binding's namespace.

    Args:
        namespace: that of the binding; empty for a ClusterRoleBinding.
    """
    kind, name = SubjectKind(subject["kind"]), subject["name"]
    home, separator, account = name.removeprefix(_ACCOUNT).partition(":")
    if kind is SubjectKind.USER and name.startswith(_ACCOUNT) and separator:
        return Subject(SubjectKind.ACCOUNT, account, home)
    return Subject(kind, name, subject.get("namespace", namespace) if kind is SubjectKind.ACCOUNT else "")


def subjects_of(binding: Mapping[str, Any]) -> Iterator[tuple[Subject, str]]:
    """The subjects of a binding, each with the words for it, e.g. `ServiceAccount apps/dev-team`."""
    for each in binding.get("subjects") or ():
        namespace = f"{each['namespace']}/" if each["kind"] == SubjectKind.ACCOUNT and "namespace" in each else ""
        found = subject_of(each, binding["metadata"].get("namespace", ""))
        yield found, printable(f"{each['kind']} {namespace}{each['name']}")


def subjects_within(binding: Mapping[str, Any], namespaces: Collection[str]) -> list[str]:
    """The subjects of a binding that are accounts in these namespaces, or groups of all of them, e.g. `Group a`.

    Kubernetes' own bindings are for groups that everybody belongs to, so of them only accounts are named.
    """
    name, namespace = binding["metadata"]["name"], binding["metadata"].get("namespace", "")
    is_of_kubernetes = (name in _OF_KUBERNETES and binding["roleRef"]["name"] == name) or namespace == PUBLIC_NAMESPACE
    return [
        words
        for subject, words in subjects_of(binding)
        if subject.within in namespaces or (subject.is_everybody and not is_of_kubernetes)
    ]


def in_words(binding: Mapping[str, Any]) -> str:
    """What a binding grants, and to whom."""
    whom = ", ".join(words for _, words in subjects_of(binding))
    return f"{binding['roleRef']['kind']} {binding['roleRef']['name']} for {whom or 'nobody'}"
