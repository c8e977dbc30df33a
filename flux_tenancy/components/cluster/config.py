"""The `cluster` section: the one cluster of the stack, its client, and whom a stack may grant something.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import Field, model_validator

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.errors import (
    EXACTLY_ONE,
    MISSING,
    NOT_A,
    UNREADABLE,
    MisplacedValueError,
    reason_of,
)
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, SecretText, matching
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest

if TYPE_CHECKING:
    from kubernetes import client

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


def kubeconfig_path(config: ClusterConfig, project: Path) -> Path | None:
    """The kubeconfig file that the configuration names, or None where it contains the kubeconfig itself."""
    return project / Path(config.kubeconfig).expanduser() if config.kubeconfig is not None else None


def connect(config: ClusterConfig, project: Path) -> client.ApiClient:
    """A client for the cluster that the configuration names.

    Raises:
        ClusterUnavailable: the kubeconfig cannot be read or has no such context.
    """
    from kubernetes import client
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader

    content, context = _read_kubeconfig(config, project)
    configuration = client.Configuration()
    configuration.retries = False
    # Certificates may be named relative to the kubeconfig, as for kubectl.
    path = kubeconfig_path(config, project)
    folder = str(path.parent) if path else None
    try:
        KubeConfigLoader(content, active_context=context, config_base_path=folder).load_and_set(configuration)
        return client.ApiClient(configuration)
    except (ConfigException, AttributeError, ImportError, KeyError, OSError, TypeError, ValueError) as error:
        # As the library reads what is damaged, names files that are not there, or needs a package for its proxy.
        raise ClusterUnavailable(_key(config), Message("FT-CLU-005", f"cannot be used: {error}")) from None


def context_name(config: ClusterConfig, project: Path) -> str:
    """The context of the kubeconfig that the configuration names, or the current one.

    Raises:
        ClusterUnavailable: the kubeconfig cannot be read or has no such context.
    """
    return printable(str(_read_kubeconfig(config, project)[1]))


def _read_kubeconfig(config: ClusterConfig, project: Path) -> tuple[dict[str, Any], str]:
    """The content of a kubeconfig, and the context to use of it."""
    key, secret = _key(config), config.kubeconfig_content
    try:
        path = kubeconfig_path(config, project)
        text = path.read_text(encoding="utf-8") if path else secret.get_secret_value() if secret else ""
    except UNREADABLE as error:
        raise ClusterUnavailable(key, UNREADABLE_FILE(reason=reason_of(error)).of(config.kubeconfig)) from None
    try:
        content = yaml.safe_load(text)
        contexts = [entry["name"] for entry in content["contexts"]]
    except (yaml.YAMLError, TypeError, KeyError, ValueError, RecursionError):
        raise ClusterUnavailable(
            key, Message("FT-CLU-002", "is not a kubeconfig: it lists no contexts", "name a kubeconfig")
        ) from None
    context = config.context or content.get("current-context")
    if context not in contexts:
        names = ", ".join(map(str, contexts))
        missing = (
            Message("FT-CLU-003", f"the kubeconfig has no context {context!r}", f"name one of these: {names}")
            if context
            else Message("FT-CLU-004", f"the kubeconfig has no current context; it has {names}", "set cluster.context")
        )
        raise ClusterUnavailable("context", missing)
    return content, context


def _key(config: ClusterConfig) -> str:
    """The key of the `cluster` section with the kubeconfig."""
    return "kubeconfig" if config.kubeconfig is not None else "kubeconfigContent"
