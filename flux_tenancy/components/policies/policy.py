"""A policy as data: its name, which requests it checks, what must hold for them, and CEL for the parts of a request.

The expressions are CEL in the common subset of the API server and Kyverno 1.19: `object`, `oldObject`,
`request`, `namespaceObject`, `variables`, and Kubernetes' own libraries.

Source: https://kubernetes.io/docs/reference/using-api/cel/ and https://kyverno.io/docs/policy-types/validating-policy/
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from flux_tenancy.components.allowlists.entries import text, texts
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.tenant.annotations import NAMESPACES, SERVICE_ACCOUNT, WITHOUT_GRANTS
from flux_tenancy.components.tenant.role import MANAGED
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL

POLICIES_FOLDER, POLICY_FILE = Path(__file__).parent, "policy.yaml"


def _further(named: Collection[object]) -> dict[str, str]:
    """The policies that are folders and have no line below, which need one only if the program names them."""
    folders = sorted(file.parent.name for file in POLICIES_FOLDER.glob(f"*/{POLICY_FILE}"))
    return {name.replace("-", "_").upper(): name for name in folders if name not in named}


class PolicyName(StrEnum):
    """An admission policy (docs/policies.md)."""

    # In the order in which they are registered. Each is a folder, except for those of Kyverno alone.
    # Limits what objects in a tenant's namespace may contain, whoever writes them.
    ALLOWED_SOURCES = "allowed-sources"
    SOURCE_OPTIONS = "source-options"
    VERIFIED_SOURCES = "verified-sources"
    NOTIFICATION_ADDRESSES = "notification-addresses"
    LANE = "lane"
    TENANT_SERVICE_ACCOUNT = "tenant-service-account"
    NO_KUBECONFIG = "no-kubeconfig"
    OWN_NAMESPACES = "own-namespaces"
    NO_CROSS_NAMESPACE_REFERENCES = "no-cross-namespace-references"
    RECONCILIATION_INTERVAL = "reconciliation-interval"
    RECONCILIATION_TIMEOUT = "reconciliation-timeout"
    CONTROLLER_LOAD = "controller-load"
    SERVICE_EXPOSURE = "service-exposure"
    LOAD_BALANCERS = "load-balancers"
    HOST_ACCESS = "host-access"
    POD_IDENTITY = "pod-identity"
    NODE_PLACEMENT = "node-placement"
    PRIORITY_CLASSES = "priority-classes"
    VOLUME_CLAIMS = "volume-claims"
    VOLUME_CLASSES = "volume-classes"
    POD_VOLUMES = "pod-volumes"
    DISRUPTION_BUDGETS = "disruption-budgets"
    ALLOWED_HOSTS = "allowed-hosts"
    INGRESS_SNIPPETS = "ingress-snippets"
    ALLOWED_IMAGES = "allowed-images"
    ALLOWED_FIELDS = "allowed-fields"
    POD_SIZE = "pod-size"
    # Limits what a tenant, unlike the platform, may do in its namespace.
    ALLOWED_KINDS = "allowed-kinds"
    PLATFORM_OBJECTS = "platform-objects"
    UNHELD_DELETION = "unheld-deletion"
    RELEASE_SIZE = "release-size"
    TENANT_NAMESPACE = "tenant-namespace"
    TENANT_LIMITS = "tenant-limits"
    TENANT_ACCESS = "tenant-access"
    NOTIFICATION_SECRETS = "notification-secrets"
    STATUS_WRITES = "status-writes"
    POLICY_OBJECTS = "policy-objects"
    EPHEMERAL_CONTAINERS = "ephemeral-containers"
    # Limits what people with part of a tenant's rights may do; only where tenants have developers.
    FLUX_REQUESTS = "flux-requests"
    # Holds the changes of tenants for a time; only where the stack has a freeze.
    FREEZE = "freeze"
    # Kyverno only: reads registries, or generates objects.
    FLUX_IMAGES = "flux-images"
    TENANT_IMAGES = "tenant-images"
    ONBOARDING = "onboarding"
    vars().update(_further([*vars().values()]))


@dataclass(frozen=True)
class Threat:
    """An attempt of a tenant (`threats.yaml`).

    Attributes:
        stopped_by: what stops it in addition to admission.
        at_admission: whether a policy must stop it, too.
    """

    attempt: str
    stopped_by: tuple[str, ...]
    at_admission: bool


THREATS: Mapping[int, Threat] = {
    number: Threat(row["attempt"], tuple(row.get("stopped", ())), row.get("at_admission", True))
    for number, row in data_of(__file__, "threats.yaml").items()
}


def value_of(annotation: str, otherwise: str) -> str:
    """CEL for the value of an annotation, with a default."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}] : {otherwise})"


def listed(annotation: str) -> str:
    """CEL for the entries of an annotation; an empty list without the annotation."""
    return f"({is_listed(annotation)} ? namespaceObject.metadata.annotations[{text(annotation)}].split(' ') : [])"


def unrestricted(annotation: str, of_stack: tuple[str, ...] | None) -> str:
    """CEL for whether neither the stack nor the tenant has a list, so that everything is allowed."""
    return f"!{is_listed(annotation)}" if of_stack is None else "false"


def is_listed(annotation: str) -> str:
    """CEL for whether the namespace has an annotation."""
    return f"(has(namespaceObject.metadata.annotations) && {text(annotation)} in namespaceObject.metadata.annotations)"


TENANT = f"namespaceObject.metadata.labels[{text(TENANT_LABEL)}]"
"""The name of the tenant that the request's namespace belongs to."""

FLUX_ACCOUNT = value_of(SERVICE_ACCOUNT, TENANT)
"""The name of the service account that Flux impersonates in the request's namespace."""

OWN_NAMESPACES = f"([request.namespace] + {listed(NAMESPACES)}.filter(name, name != request.namespace))"
"""The namespaces of that tenant."""

PLATFORM_VERBS = (
    "{'CREATE': ['create'], 'UPDATE': ['update', 'patch'], 'DELETE': ['delete', 'deletecollection']}[request.operation]"
)
"""The verbs that allow the request; a user with one of them in the whole cluster belongs to the platform.

A patch arrives as UPDATE and a deletion of a collection as DELETE, and a controller may have only one of the verbs.
"""

# No tenant's service account is in one of these namespaces.
_CONTROLLERS = tuple(f"system:serviceaccounts:{namespace}" for namespace in ("kube-system", FLUX_NAMESPACE))

NOT_BY_A_CONTROLLER = f"!request.userInfo.?groups.orValue([]).exists(group, group in {texts(_CONTROLLERS)})"
"""False for Kubernetes' and Flux's own service accounts.

They write all the time and always belong to the platform. So a webhook is not called for every status, and one that is
down blocks neither Flux nor the endpoints of Services.
"""

NOT_BY_A_NODE = (
    "!(request.userInfo.?username.orValue('').startsWith('system:node:') && "
    "'system:nodes' in request.userInfo.?groups.orValue([]))"
)
"""False for kubelets: users that the Node authorizer and the admission plugin NodeRestriction treat as a node.

A node's rights follow from the pods that are bound to it, so it has no right in the whole cluster: for the tokens of
all service accounts, the Node authorizer has no opinion. Authorizer and plugin restrict a node more than a policy can,
and no tenant can be one: neither a service account nor a role in a namespace adds a user to that group.

Source: https://kubernetes.io/docs/reference/access-authn-authz/node/
"""

APPLIED_KEYS = (
    "app.kubernetes.io/",
    "helm.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
)
"""How the labels and annotations begin that Flux, Helm and kubectl set on what they apply, with the recommended ones.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
"""

SUBRESOURCE = "(has(request.subResource) ? request.subResource : '')"
"""The subresource of the request; empty for the object itself."""

WITH_GRANTS = f"!({text(WITHOUT_GRANTS)} in object.metadata.?annotations.orValue({{}}))"
"""A dry run with this annotation tells what would be refused without the grants; nobody gains anything by it."""

NAME = "(request.operation == 'DELETE' ? oldObject : object).metadata.?name.orValue('')"
"""The name of the object; `request.name` is missing when a collection is deleted."""

OBJECT = f"request.kind.kind + ' ' + {NAME}"
"""Kind and name of the object, for messages."""


def labelled(part: str) -> str:
    """CEL for whether a part, such as `object` or `oldObject`, has the label of what the platform owns."""
    return f"{text(TENANT_LABEL)} in {part}.?metadata.?labels.orValue({{}})"


CREATE_UPDATE = ("CREATE", "UPDATE")
# The usual `Policy.reads`.
SPEC = "{object}.?spec"
# What the role `cluster-admin` in a namespace allows in addition to the tenant role.
_OF_OTHER_ROLES = (
    ("", ("podtemplates", "replicationcontrollers")),
    ("apps", ("controllerrevisions",)),
    (RBAC, ("rolebindings", "roles")),
)


class Need(StrEnum):
    """What a stack must have for a policy to be about anything."""

    DEVELOPERS = "developers"
    LANES = "lanes"
    FREEZES = "freezes"


class Requester(StrEnum):
    """Whose requests a policy checks."""

    CONTENT = "content"
    """Everybody's, if they create an object or change the part that the policy reads (`Policy.reads`). Changes of
    metadata are never refused, and objects that are older than the policy are left alone."""
    TENANTS = "tenants"
    """Those of users who have the right to the same change only in some namespaces. Users with this right in the whole
    cluster belong to the platform: its admins, Pulumi, and the controllers of Flux, Kubernetes and Kyverno."""
    PATCHERS = "patchers"
    """Those of users who belong to a tenant and may not update the object, so have only the right to patch it."""


@dataclass(frozen=True)
class Resources:
    """Resources of an API group, as in a `resourceRules` entry of an admission policy."""

    group: str
    names: tuple[str, ...]
    operations: tuple[str, ...] = CREATE_UPDATE

    def rule(self, scope: str) -> Manifest:
        """The entry for namespaced (`Namespaced`) or cluster-scoped (`Cluster`) objects.

        A namespace selector does not exclude cluster-scoped objects, so each rule states the scope.
        """
        return {
            "scope": scope,
            "apiGroups": [self.group],
            "apiVersions": ["*"],
            "resources": list(self.names),
            "operations": list(self.operations),
        }


def tenant_resources(operations: tuple[str, ...]) -> tuple[Resources, ...]:
    """All that the tenant role may write, without subresources."""
    without_subresources = ((group, tuple(name for name in names if "/" not in name)) for group, names in MANAGED)
    return tuple(Resources(group, names, operations) for group, names in without_subresources if names)


def writable_resources() -> tuple[Resources, ...]:
    """All that a tenant may write whatever its role: up to `cluster-admin` in its namespaces, without subresources."""
    return (*tenant_resources(CREATE_UPDATE), *(Resources(group, names) for group, names in _OF_OTHER_ROLES))


@dataclass(frozen=True)
class Validation:
    """A condition, and the message if it fails.

    Attributes:
        expression: CEL, true if the request is allowed.
        message: CEL for a message that names the field, what is allowed and what to do.
        exempts_platform_objects: whether it ignores objects with the tenant label if the user has the right to the same
            change in the whole cluster. The label alone would not do: another policy keeps it from tenants.
    """

    expression: str
    message: str
    exempts_platform_objects: bool = False


@dataclass(frozen=True)
class Policy:
    """One policy.

    Attributes:
        refuses: what it refuses, as a noun phrase.
        threats: numbers of the attempts that it stops, see docs/policies.md.
        resources: the objects that it checks.
        validations: what must hold; the message is that of the first that fails.
        conditions: CEL by name; the policy ignores a request if one of them is false.
        variables: CEL by name, in order; each may use the earlier ones.
        settings: keys of the configuration that it depends on; keys of a tenant's file begin with `tenant: `.
        reads: CEL for the part of an object that a CONTENT policy checks; `{object}` stands for the object.
        tenant_namespaces_only: whether it checks only tenants' namespaces; false only for cluster-scoped objects.
        platform_verbs: CEL for the verbs that only the platform has in the whole cluster.
        needs: what a stack must have; without, the policy is in force only with a mode of its own.
        native_only: whether Kubernetes enforces it with each engine, before any webhook of Kyverno is called.
        reads_clock: whether it reads the current time, which only Kubernetes' own policies can (`rendering.NOW`).
    """

    name: PolicyName
    refuses: str
    threats: tuple[int, ...]
    subject: Requester
    resources: tuple[Resources, ...]
    validations: tuple[Validation, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    reads: str = SPEC
    tenant_namespaces_only: bool = True
    platform_verbs: str = PLATFORM_VERBS
    needs: Need | None = None
    native_only: bool = False
    reads_clock: bool = False
