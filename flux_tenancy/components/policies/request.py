"""CEL for the common parts of a request: its tenant, its user, its object."""

from __future__ import annotations

from flux_tenancy.components.allowlists.cel import text, texts
from flux_tenancy.components.tenant.annotations import NAMESPACES, SERVICE_ACCOUNT, WITHOUT_GRANTS
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL


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
