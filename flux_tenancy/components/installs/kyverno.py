"""Kyverno: a pinned chart, locked down, its webhook configurations, and dry runs that show that it serves.

Values that decide how safe the platform is cannot be configured."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pulumi
from pydantic import AfterValidator, Field, model_validator

from flux_tenancy.components.cluster.hooks import after_changes
from flux_tenancy.components.config.errors import EXACTLY_ONE, NO_EFFECT, NOT_A, MisplacedValueError
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SEMANTIC_VERSION, Sha256, WebUrl, matching
from flux_tenancy.components.installs.product import (
    Chart,
    ControllerResources,
    DryRuns,
    Product,
    read_chart,
    release,
    serving_hook,
)
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP, register

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.vocabulary.manifests import Manifest


ChartVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A(what="a version of Kyverno's chart", example="3.9.1"))]


KYVERNO = Product(
    title="Kyverno",
    name="kyverno",
    area="KYV",
    namespace="kyverno",
    repository="https://github.com/kyverno/kyverno",
    # Names of webhook configurations, chart values and policy types are checked for these (major, minor).
    minors=((1, 19),),
)
KyvernoVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, NOT_A(what="a Kyverno release", example="1.19.1")), AfterValidator(KYVERNO.checked)
]
CHART_URL = "https://kyverno.github.io/kyverno/kyverno-{version}.tgz"

# The other controllers elect a leader; the second replica is a standby.
STANDBY_REPLICAS = 2


class KyvernoController(StrEnum):
    """The controllers that can be installed; no policy of the platform needs the cleanup controller."""

    ADMISSION = "admission-controller"
    BACKGROUND = "background-controller"
    REPORTS = "reports-controller"


class ChartSource(Section):
    """Where the archive of Kyverno's Helm chart comes from. Each is checked against the same digest."""

    version: ChartVersion | None = Field(
        None, description="Version of the published chart, e.g. `3.9.1`, which differs from Kyverno's."
    )
    url: WebUrl | None = Field(None, description="URL to fetch it from instead.")
    bundle: str | None = Field(None, description="Local file instead, relative to the project or absolute.")

    @model_validator(mode="after")
    def _exactly_one(self) -> ChartSource:
        if [self.version, self.url, self.bundle].count(None) != 2:
            raise ValueError(EXACTLY_ONE(keys="version, url and bundle"))
        return self

    @property
    def address(self) -> str:
        """Where to fetch it from; without meaning for a bundle."""
        return self.url or CHART_URL.format(version=self.version)


class KyvernoConfig(Section):
    """The Kyverno release that checks requests of tenants."""

    version: KyvernoVersion = Field(description="The Kyverno release; changing it upgrades a running cluster.")
    sha256: Sha256 = Field(description="Digest of the chart's archive; any other content is refused.")
    chart: ChartSource = Field(description="Source of the chart.")
    replicas: int = Field(
        3,
        ge=1,
        le=9,
        description="Replicas of the admission controller; while none runs, matching requests are refused. With more "
        f"than one, the other controllers have {STANDBY_REPLICAS}.",
    )
    reports: bool = Field(
        False, description="Install the reports controller, which lists objects that violate a policy."
    )
    resources: dict[KyvernoController, ControllerResources] = Field(
        default_factory=dict, description="Compute resources of a controller, merged over the chart's."
    )

    @model_validator(mode="after")
    def _installed(self) -> KyvernoConfig:
        if KyvernoController.REPORTS in self.resources and not self.reports:
            raise MisplacedValueError(
                ("resources",),
                NO_EFFECT(
                    reason=f"{KyvernoController.REPORTS} is installed only with reports",
                    remedy="set reports to true, or remove its resources",
                ),
            )
        return self


def kyverno_chart(config: KyvernoConfig, project: Path) -> Chart:
    """The chart that the `kyverno` section pins, written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.installs.product.read_chart`).
    """
    chart = config.chart
    return read_chart(KYVERNO, config.version, chart.address, chart.bundle, config.sha256, project)


# Kyverno's label on each of its webhook configurations.
# Source: LabelWebhookManagedBy in api/kyverno/constants.go of Kyverno 1.19.
WEBHOOK_LABEL = "webhook.kyverno.io/managed-by"
MANAGED_BY = {WEBHOOK_LABEL: "kyverno"}

# Source: the chart's own default for config.webhookAnnotations; without it AKS changes namespace selectors.
WEBHOOK_ANNOTATIONS = OWNERSHIP | BACKGROUND | {"admissions.enforcer/disabled": "true"}

# Source: pkg/config/config.go of Kyverno 1.19, but for those of the cleanup controller, which is not installed.
_WEBHOOK_CONFIGURATIONS = {
    "ValidatingWebhookConfiguration": (
        "kyverno-policy-validating-webhook-cfg",
        "kyverno-resource-validating-webhook-cfg",
        "kyverno-exception-validating-webhook-cfg",
        "kyverno-cel-exception-validating-webhook-cfg",
        "kyverno-global-context-validating-webhook-cfg",
    ),
    "MutatingWebhookConfiguration": (
        "kyverno-policy-mutating-webhook-cfg",
        "kyverno-resource-mutating-webhook-cfg",
        "kyverno-verify-mutating-webhook-cfg",
    ),
}


def webhook_configurations() -> list[Manifest]:
    """Kyverno's webhook configurations, without webhooks.

    Kyverno creates those that are missing and keeps the webhooks in them up to date. It deletes them only while it is
    scaled to zero and still has access, for which an uninstall leaves no time: with those that remain, the API server
    would call a Service that is gone, and refuse requests. Registered here, they are deleted with the stack.
    """
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": MANAGED_BY, "annotations": WEBHOOK_ANNOTATIONS},
        }
        for kind, names in _WEBHOOK_CONFIGURATIONS.items()
        for name in names
    ]


POLICY_API = "policies.kyverno.io/v1"

# Kyverno's webhook for policies, as the API server names it when it has denied a request.
# Source: PolicyValidatingWebhookName in pkg/config/config.go of Kyverno 1.19.
DENIAL = 'admission webhook "validate-policy.kyverno.svc" denied the request'


def _probe(expression: str) -> Manifest:
    """A policy for dry runs."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "never seen"}],
    }
    metadata = {"name": "flux-tenancy-serving"}
    return {"apiVersion": POLICY_API, "kind": "ValidatingPolicy", "metadata": metadata, "spec": spec}


DRY_RUNS = DryRuns(
    f"/apis/{POLICY_API}/validatingpolicies",
    # Not a valid CEL expression, which only Kyverno finds out.
    refused=("a broken policy", _probe("object.")),
    admitted=("a good policy", _probe("true")),
    denials=(DENIAL,),
    says=Wording(
        "FT-KYV-007",
        "Kyverno is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`, or the "
        "webhook of another product if the message names one",
    ),
)

# Kinds that the chart excludes from every policy, but that contain what policies restrict: a pod template, and the name
# of a pod's node.
CHECKED_KINDS = ("[ReplicaSet,*,*]", "[ReplicaSet/?*,*,*]", "[Binding,*,*]", "[Pod/binding,*,*]")

# How long a terminating pod keeps serving, until the API server's node no longer has it as an endpoint.
DRAIN_SECONDS = 5

# A new pod answers and reports ready before it has compiled the policies, and until then admits what they refuse: up to
# 1.4 s in the lab. So it gets no requests until it has answered for ten seconds; for a pod that stops answering, the
# chart's minute stays.
READINESS = {"periodSeconds": 5, "successThreshold": 3, "failureThreshold": 12}

# Memory of the admission controller with all policies of the platform, in MiB: without requests, and for each request
# about an object of one MiB; and how many such requests it must take at the same time. With 50 pods of 128 KiB each, it
# had 549 MiB. Source: dev/docs/measurements.md#what-the-largest-pods-cost-kyverno
_IDLE_MIB, _MIB_PER_REQUEST = 264, 48
_PARALLEL_REQUESTS = 50

# A harmless rule for a list that must not be empty: Pulumi's Release drops an empty list, and the chart would use its
# default, which grants writing quotas, network policies and role bindings.
_NO_MORE_RULES: tuple[Manifest, ...] = ({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},)

_FEATURES_OF_REPORTS = (
    "admissionReports",
    "aggregateReports",
    "backgroundScan",
    "policyReports",
    "validatingAdmissionPolicyReports",
)


def admission_memory(largest_object: int) -> str:
    """The memory limit of the admission controller, as a quantity.

    Args:
        largest_object: size in KiB of the largest object that it is sent.
    """
    return f"{_IDLE_MIB + math.ceil(_PARALLEL_REQUESTS * _MIB_PER_REQUEST * largest_object / 1024)}Mi"


def helm_values(
    config: KyvernoConfig,
    background_rules: Sequence[Manifest] = (),
    further_kinds: bool = False,
    largest_object: int | None = None,
) -> dict[str, Any]:
    """The values of the chart.

    Args:
        background_rules: RBAC rules for what the platform's policies generate and mutate in the background; the
            background controller gets these instead of the chart's broad defaults.
        further_kinds: whether the stack installs further kinds, which Kyverno would otherwise refuse in namespaces of
            tenants until it reads again what kinds the cluster has, after up to 15 minutes.
        largest_object: size in KiB of the largest pod that tenants may create; None keeps the chart's memory limit.

    Source: charts/kyverno/values.yaml of Kyverno 1.19.
    """
    return {
        "features": {
            # Whoever can create an exception can bypass the policy.
            "policyExceptions": {"enabled": False},
            # Each policy has its own failurePolicy; the platform's policies fail closed.
            "forceFailurePolicyIgnore": {"enabled": False},
            **{feature: {"enabled": config.reports} for feature in _FEATURES_OF_REPORTS},
        },
        # Otherwise an admin of a namespace, which a tenant may be, could write policies and exceptions there.
        "rbac": {"roles": {"aggregate": {"admin": False, "view": False}}},
        "config": {
            # A ConfigMap that outlives the chart would be taken over by the next installation.
            "preserve": False,
            "resourceFiltersExclude": list(CHECKED_KINDS),
            "webhookAnnotations": WEBHOOK_ANNOTATIONS,
        },
        # The hook scales Kyverno to zero without waiting for it, and forgets the validating webhooks; the stack removes
        # them all (`webhook_configurations`).
        "webhooksCleanup": {"enabled": False},
        "cleanupController": {"enabled": False},
        "admissionController": {
            **_replicas(config.replicas),
            **({"crdWatcher": True} if further_kinds else {}),
            "readinessProbe": READINESS,
            "container": _resources(config, KyvernoController.ADMISSION, largest_object)
            | {"lifecycle": {"preStop": {"sleep": {"seconds": DRAIN_SECONDS}}}},
        },
        "backgroundController": {
            **_replicas(_standby(config)),
            **_resources(config, KyvernoController.BACKGROUND),
            "rbac": {
                "coreClusterRole": {"extraResources": list(_NO_MORE_RULES)},
                "clusterRole": {"extraResources": list(background_rules)},
            },
        },
        "reportsController": {
            "enabled": config.reports,
            **_replicas(_standby(config)),
            **_resources(config, KyvernoController.REPORTS),
        },
    }


def _standby(config: KyvernoConfig) -> int:
    return min(config.replicas, STANDBY_REPLICAS)


def _replicas(replicas: int) -> dict[str, Any]:
    """Replicas, one of which survives a node drain; the chart prefers to place them on different nodes."""
    return {"replicas": replicas, "podDisruptionBudget": {"enabled": replicas > 1}}


def _resources(
    config: KyvernoConfig, controller: KyvernoController, largest_object: int | None = None
) -> dict[str, Any]:
    given = config.resources[controller].model_dump(exclude_defaults=True) if controller in config.resources else {}
    if largest_object is not None:
        given["limits"] = {"memory": admission_memory(largest_object)} | given.get("limits", {})
    return {"resources": given} if given else {}


TENANT_PLACEHOLDER, NAMESPACE_PLACEHOLDER = "(( variables.tenant ))", "(( object.metadata.name ))"
"""What stands for the tenant and the namespace in the templates of the platform's GeneratingPolicy."""


def generated_by(policy: Manifest, tenant: str, namespace: str) -> list[Manifest]:
    """What the platform's GeneratingPolicy generates in a namespace."""
    templates = (each["template"]["value"] for each in policy["spec"]["generate"])
    return [
        json.loads(each.replace(TENANT_PLACEHOLDER, tenant).replace(NAMESPACE_PLACEHOLDER, namespace))
        for each in templates
    ]


@dataclass(frozen=True)
class KyvernoInstallArgs:
    """What KyvernoInstall needs.

    Attributes:
        chart: the chart of that release, digest already checked (`kyverno_chart`).
        api: a client for the cluster, to check whether Kyverno serves.
        background_rules: RBAC rules for what the platform's policies generate and mutate in the background.
        further_kinds: whether the stack installs further kinds while Kyverno serves.
        largest_object: size in KiB of the largest pod that tenants may create; None keeps the chart's memory limit.
    """

    config: KyvernoConfig
    chart: Chart
    api: client.ApiClient
    background_rules: Sequence[Manifest] = ()
    further_kinds: bool = False
    largest_object: int | None = None


class KyvernoInstall(pulumi.ComponentResource):
    """Kyverno's custom resource definitions, controllers and webhooks.

    Whatever needs Kyverno to serve depends on `release` and has the hook `serving`:

        pulumi.ResourceOptions(depends_on=[kyverno.release], hooks=before_changes([kyverno.serving]))
    """

    version: pulumi.Output[str]
    release: pulumi.CustomResource
    serving: pulumi.ResourceHook

    def __init__(self, name: str, args: KyvernoInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:KyvernoInstall", name, None, opts)
        # Created first and deleted last, when no Kyverno is left that would create them again.
        webhooks = [register(manifest, pulumi.ResourceOptions(parent=self)) for manifest in webhook_configurations()]
        home = register(KYVERNO.own_namespace(), pulumi.ResourceOptions(parent=self, depends_on=webhooks))
        self.serving = serving_hook(KYVERNO, DRY_RUNS, args.api)
        self.release = release(
            KYVERNO,
            args.chart,
            helm_values(args.config, args.background_rules, args.further_kinds, args.largest_object),
            pulumi.ResourceOptions(parent=self, depends_on=[home], hooks=after_changes(self.serving)),
        )
        self.version = pulumi.Output.from_input(args.config.version)
        self.register_outputs({"version": self.version})
