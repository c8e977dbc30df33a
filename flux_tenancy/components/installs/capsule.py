"""Capsule: a pinned chart, locked down, who may administrate tenants, and dry runs that show that it serves.

Values that decide how safe the platform is cannot be configured. What Capsule does for one tenant belongs in `tenant`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pulumi
import yaml
from pydantic import AfterValidator, Field

from flux_tenancy.components.cluster.config import Subject, SubjectKind
from flux_tenancy.components.cluster.hooks import NotReady, after_changes, wait_for
from flux_tenancy.components.config.errors import NOT_A, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SEMANTIC_VERSION, Sha256, matching
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.product import (
    TIMEOUT_SECONDS,
    Chart,
    ControllerResources,
    DryRuns,
    Product,
    UrlOrBundle,
    read_chart,
    release,
    serving_hook,
)
from flux_tenancy.components.plan import register
from flux_tenancy.components.rbac.subjects import user_of
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.cluster.client import Identity


CAPSULE = Product(
    title="Capsule",
    name="capsule",
    area="CAP",
    namespace="capsule-system",
    repository="https://github.com/projectcapsule/capsule",
    # Chart values, names of generated objects and custom resources are checked for these (major, minor).
    minors=((0, 14),),
)
CapsuleVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, NOT_A(what="a Capsule release", example="0.14.0")), AfterValidator(CAPSULE.checked)
]
CHART_URL = "https://projectcapsule.github.io/charts/capsule-{version}.tgz"


class CapsuleChart(UrlOrBundle):
    """Where the archive of Capsule's Helm chart comes from, if not from Capsule's own repository."""


class CapsuleConfig(Section):
    """The Capsule release that checks namespaces of tenants."""

    version: CapsuleVersion = Field(
        description="The Capsule release and chart, e.g. `0.14.0`; changing it upgrades a running cluster."
    )
    sha256: Sha256 = Field(description="Digest of the chart's archive; any other content is refused.")
    chart: CapsuleChart = Field(
        default_factory=CapsuleChart, description="Source of the chart; Capsule's own by default."
    )
    administrators: tuple[Subject, ...] = Field(
        min_length=1, description="Subjects that apply this stack; they may change the namespaces of any tenant."
    )
    replicas: int = Field(
        2,
        ge=1,
        le=9,
        description="Replicas of the controller. While none runs, namespaces cannot be created, changed or deleted.",
    )
    resources: ControllerResources | None = Field(
        None, description="Compute resources of the controller, merged over the chart's."
    )

    @property
    def address(self) -> str:
        """Where to fetch the chart from; without meaning for a bundle."""
        return self.chart.url or CHART_URL.format(version=self.version)


_DEFINITIONS = "capsule/crds/"


@dataclass(frozen=True)
class CapsuleRelease:
    """What is installed of Capsule.

    Attributes:
        definitions: its custom resource definitions, which Helm would neither upgrade nor remove.
    """

    chart: Chart
    definitions: tuple[Manifest, ...]


def read_capsule(config: CapsuleConfig, project: Path) -> CapsuleRelease:
    """The release that the `capsule` section pins, with the chart written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.installs.product.read_chart`).
    """
    chart = read_chart(CAPSULE, config.version, config.address, config.chart.bundle, config.sha256, project)
    with tarfile.open(project / chart.path) as archive:
        files = [archive.extractfile(name) for name in sorted(archive.getnames()) if _is_definition(name)]
        definitions = [yaml.load(file, FastLoader) for file in files if file is not None]
    return CapsuleRelease(chart, tuple(_newest_only(each) for each in definitions))


def _is_definition(path: str) -> bool:
    return path.startswith(_DEFINITIONS) and path.endswith(".yaml")


def _newest_only(definition: Manifest) -> Manifest:
    """The definition, serving only the version in which objects are stored.

    Nothing converts an older version then, so no request depends on Capsule's conversion webhook, and no old manifest
    loses a field silently.
    """
    versions = [version | {"served": version["storage"]} for version in definition["spec"]["versions"]]
    return definition | {"spec": definition["spec"] | {"versions": versions}}


CAPSULE_GROUP = "capsule.clastix.io"
DEFINITION_TYPE = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"

CREATED_BY_LABEL = "projectcapsule.dev/created-by"
"""Capsule's label on its webhook configurations, ClusterRoles and bindings."""
CREATED_WEBHOOKS = {CREATED_BY_LABEL: "controller"}
_CREATED_ROLES = {CREATED_BY_LABEL: "rbac-controller"}

WEBHOOKS = "capsule-dynamic-webhook"
"""Name of Capsule's validating and of its mutating webhook configuration."""
NAMESPACE_PROVISIONER, NAMESPACE_DELETER = "capsule-namespace-provisioner", "capsule-namespace-deleter"
"""Capsule's ClusterRoles to create and to delete namespaces."""
_VERBS = {NAMESPACE_PROVISIONER: ("create", "patch"), NAMESPACE_DELETER: ("delete",)}


def generated_objects() -> list[Manifest]:
    """What Capsule fills in: its webhook configurations, and the roles to create and delete namespaces.

    Capsule creates those that are missing and keeps them up to date, and the chart removes some of them in a Job that
    needs an image of its own. With webhooks that remain, nobody could change a namespace any more. Registered here,
    they are deleted with the stack, when no Capsule is left that would create them again.
    """
    return [
        *(_webhooks(kind) for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")),
        # With their rules: Capsule ends if it has to change a role while it also reconciles it.
        *(_role("ClusterRole", name) | {"rules": [_rule(verbs)]} for name, verbs in _VERBS.items()),
        _role("ClusterRoleBinding", NAMESPACE_PROVISIONER)
        | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAMESPACE_PROVISIONER}},
    ]


def _webhooks(kind: str) -> Manifest:
    metadata = {"name": WEBHOOKS, "labels": CREATED_WEBHOOKS}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata}


def _role(kind: str, name: str) -> Manifest:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name, "labels": _CREATED_ROLES}}


def _rule(verbs: Iterable[str]) -> Manifest:
    return {"apiGroups": [""], "resources": ["namespaces"], "verbs": list(verbs)}


# Names that a tenant's namespace cannot have, so that it is never taken for a part of the platform.
PROTECTED_NAMESPACES = r"^(default|(kube|flux|kyverno|capsule|cert-manager|istio|openshift)(-.*)?)$"

# Nobody: owners of tenants are users by themselves. Pulumi's Release drops an empty list, and the chart would use its
# default, a group that anybody's identity provider may have.
_NO_FURTHER_USERS = ({"kind": "User", "name": "system:nobody"},)

# A service account without rights, for replications that name none: without it, Capsule writes with its own rights.
# Source: https://github.com/projectcapsule/capsule/security/advisories/GHSA-qjjm-7j9w-pw72
_ACCOUNT_WITHOUT_RIGHTS = "default"

_LABELS = {"app.kubernetes.io/name": "capsule", "app.kubernetes.io/instance": "capsule"}


def helm_values(config: CapsuleConfig, bindable_roles: Sequence[str] = ()) -> dict[str, Any]:
    """The values of the chart.

    Args:
        bindable_roles: names of the ClusterRoles that Capsule may bind in tenants' namespaces, besides its own.

    Source: charts/capsule/values.yaml of Capsule 0.14.
    """
    return {
        # The stack registers the definitions, and what its Jobs clean up (`generated_objects`).
        "crds": {"install": False},
        "global": {"jobs": {"postInstall": {"enabled": False}, "preDelete": {"enabled": False}}},
        # Capsule's own certificates, which it also renews.
        "tls": {"enableController": True},
        "certManager": {"generateCertificates": False},
        "replicaCount": config.replicas,
        "topologySpreadConstraints": [_spread()],
        **({"extraManifests": [_disruption_budget()]} if config.replicas > 1 else {}),
        "manager": {
            # Instead of cluster-admin.
            "rbac": {"strict": True, "bindableClusterRoles": list(bindable_roles) or [NAMESPACE_DELETER]},
            "resources": config.resources.model_dump(exclude_defaults=True) if config.resources is not None else {},
            "options": {
                "users": [dict(each) for each in _NO_FURTHER_USERS],
                "administrators": [capsule_user(each) for each in config.administrators],
                "allowServiceAccountPromotion": False,
                "protectedNamespaceRegex": PROTECTED_NAMESPACES,
                "impersonation": {
                    "tenantDefaultServiceAccount": _ACCOUNT_WITHOUT_RIGHTS,
                    "globalDefaultServiceAccount": _ACCOUNT_WITHOUT_RIGHTS,
                    "globalDefaultServiceAccountNamespace": CAPSULE.namespace,
                },
            },
        },
    }


def capsule_user(subject: Subject) -> dict[str, str]:
    """A subject as Capsule names it. Source: UserSpec in pkg/api/rbac of Capsule 0.14."""
    return {"kind": subject.kind.value, "name": username(subject)}


def username(subject: Subject) -> str:
    """The name of a user or group, as the API server knows it."""
    if subject.kind is SubjectKind.SERVICE_ACCOUNT:
        return user_of(subject.namespace or "", subject.name)
    return subject.name


def _spread() -> Manifest:
    """Replicas on different nodes where there are several."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _LABELS},
    }


def _disruption_budget() -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "capsule-controller-manager", "namespace": CAPSULE.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": _LABELS}},
    }


def administrator_problems(config: CapsuleConfig, user: Identity, stack_file: str) -> list[Problem]:
    """A problem if Capsule would take this user for anybody."""
    for each in config.administrators:
        if username(each) in (user.groups if each.kind is SubjectKind.GROUP else [user.name]):
            return []
    return [
        Problem(
            stack_file,
            "capsule.administrators",
            Message(
                "FT-CAP-008",
                f"lists neither {user.name}, who applies this stack, nor a group of this user; Capsule would "
                "refuse this user's changes of tenants' namespaces",
                "add it",
            ),
        )
    ]


def _probe(labels: Manifest) -> Manifest:
    """A namespace for dry runs."""
    metadata = {"name": "flux-tenancy-serving", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


DRY_RUNS = DryRuns(
    "/api/v1/namespaces",
    # As a tenant would ask for it that takes itself for another one.
    refused=("a namespace for an unknown tenant", _probe({f"{CAPSULE_GROUP}/tenant": "flux-tenancy-serving"})),
    admitted=("a namespace that is no tenant's", _probe({})),
    # Capsule's webhooks for namespaces, as the API server names them when they have denied a request.
    # Source: charts/capsule/templates/configuration.yaml of Capsule 0.14.
    denials=(
        'admission webhook "namespaces.mutating.projectcapsule.dev" denied the request',
        'admission webhook "namespaces.validating.projectcapsule.dev" denied the request',
    ),
    says=Wording(
        "FT-CAP-007",
        "Capsule is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n capsule-system` and `kubectl logs -n capsule-system "
        "deploy/capsule-controller-manager`",
    ),
)


def wait_until_admitted(refusal: Callable[[str, Manifest], str | None], namespace: str) -> None:
    """Wait until admission lets Capsule write in a tenant's namespace.

    Kyverno refuses every object of a kind that it does not know yet, whoever writes it.

    Args:
        refusal: returns why the cluster would refuse to create an object at a path, or None.

    Raises:
        NotReady: it is still refused after a while.
    """
    path = f"/apis/{CAPSULE_GROUP}/v1beta2/namespaces/{namespace}/rulestatuses"
    metadata = {"name": "flux-tenancy-serving", "namespace": namespace}
    status = {"apiVersion": f"{CAPSULE_GROUP}/v1beta2", "kind": "RuleStatus", "metadata": metadata}
    if reason := wait_for(partial(refusal, path, status), TIMEOUT_SECONDS):
        raise NotReady(
            Message(
                "FT-CAP-009",
                f"namespace {namespace}: Capsule's writes were refused for {TIMEOUT_SECONDS:.0f} s: {reason}",
                "if this is Kyverno's refusal, run `kubectl rollout restart deployment "
                "kyverno-admission-controller -n kyverno` and the update again",
            )
        )


@dataclass(frozen=True)
class CapsuleInstallArgs:
    """What CapsuleInstall needs.

    Attributes:
        release: the chart and the definitions of that release, digest already checked (`read_capsule`).
        api: a client for the cluster, to check whether Capsule serves.
        bindable_roles: names of the ClusterRoles that Capsule may bind in tenants' namespaces, besides its own.
    """

    config: CapsuleConfig
    release: CapsuleRelease
    api: client.ApiClient
    bindable_roles: Sequence[str] = ()


class CapsuleInstall(pulumi.ComponentResource):
    """Capsule's custom resource definitions, its controller and webhooks.

    Once it is installed, the API server asks Capsule about every change of a namespace. So whatever changes one depends
    on `release` and has the hook `serving`:

        pulumi.ResourceOptions(depends_on=[capsule.release], hooks=before_changes([capsule.serving]))
    """

    version: pulumi.Output[str]
    release: pulumi.CustomResource
    serving: pulumi.ResourceHook

    def __init__(self, name: str, args: CapsuleInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:CapsuleInstall", name, None, opts)
        base = [
            register(each, pulumi.ResourceOptions(parent=self))
            for each in (CAPSULE.own_namespace(), *args.release.definitions)
        ]
        # Created before Capsule and deleted after it, but before the namespace, which could not be deleted otherwise.
        filled = [register(each, pulumi.ResourceOptions(parent=self, depends_on=base)) for each in generated_objects()]
        self.serving = serving_hook(CAPSULE, DRY_RUNS, args.api)
        self.release = release(
            CAPSULE,
            args.release.chart,
            helm_values(args.config, args.bindable_roles),
            pulumi.ResourceOptions(parent=self, depends_on=[*base, *filled], hooks=after_changes(self.serving)),
            skipCrds=True,
        )
        self.version = pulumi.Output.from_input(args.config.version)
        self.register_outputs({"version": self.version})
