"""The `cluster` section: the one cluster of the stack."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.config.errors import EXACTLY_ONE, NOT_A
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SecretText, matching

ClusterUid = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        NOT_A(what="a uid", example="that of `kubectl get namespace kube-system -o jsonpath={.metadata.uid}`"),
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
        description=(
            "Expected uid of the namespace `kube-system`; defaults to the one that the first `pulumi up` found."
        ),
    )

    adopt: bool = Field(
        False, description="Take over existing objects, such as those of `flux bootstrap` (docs/adoption.md)."
    )
    production: bool | None = Field(
        None,
        description=(
            "Whether this is a production environment; by default, if `production` or `prod` is the first "
            "or last word of the stack's name, e.g. `prod-eu`."
        ),
    )
    protect: bool | None = Field(
        None,
        description=(
            "Whether `pulumi` refuses to delete namespaces and CustomResourceDefinitions "
            "(docs/running.md#protection); by default, in production environments."
        ),
    )
    previewers: tuple[Subject, ...] = Field(
        (),
        description=(
            "Subjects that may preview the stack and detect drift, but read no Secrets "
            "(docs/review.md#previews-with-a-read-only-identity)."
        ),
    )
    auditors: tuple[Subject, ...] = Field(
        (),
        description=(
            "Subjects that may read built-in kinds, Flux's objects and logs in the whole cluster, but "
            "no Secrets (docs/grants.md#people)."
        ),
    )

    @model_validator(mode="after")
    def _one_kubeconfig(self) -> ClusterConfig:
        if (self.kubeconfig is None) == (self.kubeconfig_content is None):
            raise ValueError(EXACTLY_ONE(keys="kubeconfig (a path) and kubeconfigContent (a secret)"))
        return self
