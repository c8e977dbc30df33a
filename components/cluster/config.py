"""The `cluster` section: the one cluster of the stack."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.cluster.types import ClusterUid
from components.config.section import Section
from components.config.types import SecretText


class ClusterConfig(Section):
    """The one cluster of the stack and how to be sure that it is this one."""

    kubeconfig: str | None = Field(None, description="Path of a kubeconfig file; relative paths start at the project.")
    kubeconfig_content: SecretText | None = Field(
        None,
        description="A kubeconfig itself; `pulumi config set --secret --path cluster.kubeconfigContent`.",
    )
    context: str | None = Field(None, description="Context of the kubeconfig; its current one where left out.")
    uid: ClusterUid | None = Field(
        None,
        description="Expected identity of the cluster: the uid of its namespace `kube-system`. "
        "Where left out, the first `pulumi up` records it.",
    )

    adopt: bool = Field(
        False,
        description="Take over objects that are in the cluster already, such as those of `flux bootstrap`, instead of "
        "refusing to touch them (docs/adoption.md).",
    )

    @model_validator(mode="after")
    def _one_kubeconfig(self) -> ClusterConfig:
        if (self.kubeconfig is None) == (self.kubeconfig_content is None):
            raise ValueError("name the cluster by exactly one of kubeconfig (a path) and kubeconfigContent (a secret)")
        return self
