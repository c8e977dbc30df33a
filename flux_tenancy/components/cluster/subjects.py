"""Users, groups and service accounts that a stack grants something, and how a binding names them.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import MISSING, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest

_OF_KUBERNETES = "system:"


class SubjectKind(StrEnum):
    """The kind of a subject."""

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class PersonKind(StrEnum):
    """Kind of a person: user or group."""

    USER = "User"
    GROUP = "Group"


class Subject(Section):
    """A user, group or service account of the platform."""

    kind: SubjectKind = Field(description="Kind of the subject.")
    name: str = Field(min_length=1, description="Name of the subject in the API server.")
    namespace: DnsLabel | None = Field(None, description="Namespace of a service account.")

    @model_validator(mode="after")
    def _namespaced(self) -> Subject:
        if self.kind is SubjectKind.SERVICE_ACCOUNT:
            if self.namespace is None:
                raise MisplacedValueError(("namespace",), MISSING())
            return self
        if self.namespace is not None:
            raise ValueError(
                Message(
                    "FT-CFG-183",
                    f"{self.kind} {self.name} has no namespace",
                    "remove namespace, or set kind to ServiceAccount",
                )
            )
        _refuse_kubernetes_own(self.kind, self.name)
        return self


class Person(Section):
    """A user or a group of the cluster's identity provider."""

    kind: PersonKind = Field(description="Kind of the subject.")
    name: str = Field(
        min_length=1, description="Name of the subject in the API server, with the prefix of its identity provider."
    )

    @model_validator(mode="after")
    def _not_of_kubernetes(self) -> Person:
        _refuse_kubernetes_own(self.kind, self.name)
        return self


def rbac_subject(subject: Subject | Person) -> Manifest:
    """The subject as a binding names it."""
    manifest: Manifest = {"kind": subject.kind.value, "name": subject.name}
    if isinstance(subject, Subject) and subject.kind is SubjectKind.SERVICE_ACCOUNT:
        return manifest | {"namespace": subject.namespace}
    return manifest | {"apiGroup": RBAC}


def _refuse_kubernetes_own(kind: StrEnum, name: str) -> None:
    # Such groups have all users or all service accounts in them, tenants' included.
    if name.startswith(_OF_KUBERNETES):
        raise ValueError(
            Message(
                "FT-CFG-184",
                f"{kind} {name} is built into Kubernetes, and tenants' accounts may belong to it",
                "set a user or group of your identity provider",
            )
        )
