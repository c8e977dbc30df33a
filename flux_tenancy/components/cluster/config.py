"""The `cluster` section: the one cluster of the stack."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SecretText, matching

ClusterUid = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        Message(
            "FT-CFG-180", "is not a uid", "take it from `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`"
        ),
    ),
]


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
        description="Expected identity of the cluster: the uid of its namespace `kube-system`. Defaults to the uid "
        "that the first `pulumi up` found.",
    )

    adopt: bool = Field(
        False,
        description="Take over objects that already exist in the cluster, such as those of `flux bootstrap`, "
        "instead of refusing to change them (docs/adoption.md).",
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
    previewers: tuple[Subject, ...] = Field(
        (),
        description="Users, groups and service accounts that may preview the stack and detect drift, but may not "
        "change anything or read Secrets (docs/review.md#previews-with-a-read-only-identity).",
    )
    auditors: tuple[Subject, ...] = Field(
        (),
        description="Users, groups and service accounts that may read built-in kinds, Flux's objects and logs in the "
        "whole cluster, but no Secrets, and may not change anything (docs/grants.md#people); none by default.",
    )

    @model_validator(mode="after")
    def _one_kubeconfig(self) -> ClusterConfig:
        if (self.kubeconfig is None) == (self.kubeconfig_content is None):
            raise ValueError(
                Message("FT-CFG-181", "needs exactly one of kubeconfig (a path) and kubeconfigContent (a secret)")
            )
        return self
