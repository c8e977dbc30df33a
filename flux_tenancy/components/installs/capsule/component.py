"""CapsuleInstall: a pinned Capsule release, locked down, that serves, as dry runs show, before anything needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.hooks import NotReady, after_changes, ready_hook, wait_for
from flux_tenancy.components.cluster.subjects import Subject, SubjectKind
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.capsule.objects import (
    CAPSULE_GROUP,
    NAMESPACE_DELETER,
    CapsuleRelease,
    generated_objects,
)
from flux_tenancy.components.installs.chart import TIMEOUT_SECONDS, release
from flux_tenancy.components.installs.serving import DryRun, DryRuns, until_serving
from flux_tenancy.components.plan import register
from flux_tenancy.components.rbac.subjects import user_of

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.cluster.client import Identity
    from flux_tenancy.components.installs.capsule.config import CapsuleConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

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
        # The stack registers the definitions, and what its Jobs clean up (`components.installs.capsule.objects`).
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


NAMESPACES_PATH = "/api/v1/namespaces"

# Capsule's webhooks for namespaces, as the API server names them when they have denied a request.
# Source: charts/capsule/templates/configuration.yaml of Capsule 0.14.
DENIALS = (
    'admission webhook "namespaces.mutating.projectcapsule.dev" denied the request',
    'admission webhook "namespaces.validating.projectcapsule.dev" denied the request',
)


def probe(labels: Manifest) -> Manifest:
    """A namespace for dry runs; it is never created."""
    metadata = {"name": "flux-tenancy-serving", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


GOOD_PROBE = probe({})
# As a tenant would ask for it that takes itself for another one.
FOREIGN_PROBE = probe({f"{CAPSULE_GROUP}/tenant": "flux-tenancy-serving"})

_DRY_RUNS = DryRuns(
    DryRun(FOREIGN_PROBE, "a namespace for an unknown tenant"),
    DENIALS,
    DryRun(GOOD_PROBE, "a namespace that is no tenant's"),
)

wait_until_serving = partial(
    until_serving,
    _DRY_RUNS,
    Wording(
        "FT-CAP-007",
        "Capsule is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n capsule-system` and `kubectl logs -n capsule-system "
        "deploy/capsule-controller-manager`",
    ),
)
"""Waits until Capsule refuses a namespace for an unknown tenant and admits one that is no tenant's."""


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
        release: the chart and the definitions of that release, digest already checked
            (`components.installs.capsule.objects.read_capsule`).
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
        asked = partial(refusal, args.api, NAMESPACES_PATH)
        self.serving = ready_hook("capsule-serving", lambda: wait_until_serving(asked))
        self.release = release(
            CAPSULE,
            args.release.chart,
            helm_values(args.config, args.bindable_roles),
            pulumi.ResourceOptions(parent=self, depends_on=[*base, *filled], hooks=after_changes(self.serving)),
            skipCrds=True,
        )
        self.version = pulumi.Output.from_input(args.config.version)
        self.register_outputs({"version": self.version})
