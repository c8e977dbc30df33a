"""The `cluster` section: the one cluster of the stack."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from components.cluster.config_wordings import (
    KUBERNETES_OWN_SUBJECT,
    NAMESPACE_OF_NO_ACCOUNT,
    NO_NAMESPACE_OF_ACCOUNT,
    ONE_KUBECONFIG,
)
from components.cluster.types import ClusterUid
from components.config.section import Section
from components.config.types import DnsLabel, SecretText

_OF_KUBERNETES = "system:"


class PreviewerKind(StrEnum):
    """The kind of a subject.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
    """

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class Previewer(Section):
    """A user, group or service account that may preview the stack."""

    kind: PreviewerKind = Field(description="Kind of the subject.")
    name: str = Field(min_length=1, description="Its name, as the API server knows it.")
    namespace: DnsLabel | None = Field(None, description="Namespace of a service account.")

    @model_validator(mode="after")
    def _namespaced(self) -> Previewer:
        if self.kind is PreviewerKind.SERVICE_ACCOUNT:
            if self.namespace is None:
                raise ValueError(NO_NAMESPACE_OF_ACCOUNT(name=self.name))
            return self
        if self.namespace is not None:
            raise ValueError(NAMESPACE_OF_NO_ACCOUNT(kind=self.kind, name=self.name))
        # Such groups have all users or all service accounts in them, tenants' included.
        if self.name.startswith(_OF_KUBERNETES):
            raise ValueError(KUBERNETES_OWN_SUBJECT(kind=self.kind, name=self.name))
        return self


class ClusterConfig(Section):
    """The one cluster of the stack, and how it is identified."""

    kubeconfig: str | None = Field(None, description="Path of a kubeconfig file, relative to the project or absolute.")
    kubeconfig_content: SecretText | None = Field(
        None,
        description="Content of a kubeconfig; set by `pulumi config set --secret --path cluster.kubeconfigContent`.",
    )
    context: str | None = Field(None, description="Context of the kubeconfig; defaults to its current context.")
    uid: ClusterUid | None = Field(
        None,
        description="Expected identity of the cluster: the uid of its namespace `kube-system`. "
        "By default, the one that the first `pulumi up` found.",
    )

    adopt: bool = Field(
        False,
        description="Take over objects that exist in the cluster, such as those of `flux bootstrap`, instead of "
        "refusing to change them (docs/adoption.md).",
    )
    production: bool | None = Field(
        None,
        description="Whether this is a production environment, where defaults are stricter. By default, a stack is one "
        "if `production` or `prod` is the first or last word of its name, e.g. `production` or `prod-eu`.",
    )
    protect: bool | None = Field(
        None,
        description="Whether `pulumi` refuses to delete namespaces and CustomResourceDefinitions of this stack "
        "(docs/running.md#protection). By default, it does in production environments.",
    )
    previewers: tuple[Previewer, ...] = Field(
        (),
        description="Who may preview the stack and compare the cluster with it, without a right to change anything or "
        "to read Secrets (docs/previews.md).",
    )

    @model_validator(mode="after")
    def _one_kubeconfig(self) -> ClusterConfig:
        if (self.kubeconfig is None) == (self.kubeconfig_content is None):
            raise ValueError(ONE_KUBECONFIG())
        return self
