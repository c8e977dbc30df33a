"""Policies about what only the platform may change in a tenant's namespace, whatever role the tenant has there."""

from __future__ import annotations

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts, unchanged
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.pods import templates
from flux_tenancy.components.policies.policy import (
    ANY_CHANGE,
    Policy,
    Resources,
    Subject,
    Validation,
    writable_resources,
)
from flux_tenancy.components.policies.request import ASK, NAME, OBJECT, OWN_NAMESPACES, TENANT, is_own, labelled
from flux_tenancy.components.tenant.role import MANAGED
from flux_tenancy.components.vocabulary.manifests import RBAC
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.components.vocabulary.object_meta import SECRET_SUFFIX

# Applying an unchanged object still makes the tenant an owner of its fields, and fields that the platform removes later
# would stay.
# Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
OWNERS = "metadata.?managedFields.orValue([])"
# Whether a request may take a name that the platform needs: of a source, a sync, a Receiver or their Secrets.
_MAY_TAKE_A_NAME = (
    "request.operation == 'CREATE' && (request.resource.resource in "
    f"{texts(('gitrepositories', 'kustomizations', 'receivers'))} || "
    f"(request.resource.resource == 'secrets' && {NAME}.matches({text(SECRET_SUFFIX)})))"
)
# Annotations by which `flux reconcile` requests a reconciliation. Source: https://fluxcd.io/flux/components/
_REQUESTS = "reconcile.fluxcd.io/"
_TOKEN = "kubernetes.io/service-account-token"
# Annotations of a service account by which Flux 2.10 logs in with its tokens: at any vault, under any role, for any
# audience, past `flux.vaults`. Source: https://fluxcd.io/flux/integrations/object-identity/
_LOGINS = (
    "object.metadata.?annotations.orValue({}).map(key, key)"
    ".filter(key, key.matches('^([a-z0-9.-]+[.])?auth[.]fluxcd[.]io/'))"
)
_NEVER = "false"
_FLUX = ".fluxcd.io"
# API groups of Kubernetes. A forged status can free quota, open an address, or block a node drain.
_STATUS_GROUPS = ("", "apps", "autoscaling", "batch", "policy", "networking.k8s.io")
_KUBERNETES = ("system:kube-controller-manager", "system:kube-scheduler")
_NOT_BY_KUBERNETES = (
    f"!(request.userInfo.username in {texts(_KUBERNETES)} || 'system:nodes' in request.userInfo.?groups.orValue([]))"
)


def platform_objects() -> Policy:
    """Objects with the tenant label in a tenant's namespace belong to the platform; tenants cannot change them.

    Tenants may still request a reconciliation.
    """
    made = " || ".join(f"{each}.exists(template, {labelled('template')})" for each in templates("object").values())
    return Policy(
        name=PolicyName.PLATFORM_OBJECTS,
        refuses="creating, changing and deleting platform objects (label `toolkit.fluxcd.io/tenant`), applying them "
        "unchanged, and using their names; requests for their reconciliation are allowed",
        threats=(11, 14, 39),
        subject=Subject.TENANTS,
        resources=writable_resources(ANY_CHANGE),
        conditions={
            "platform-object": f"(request.operation != 'DELETE' && ({labelled('object')} || {made})) || "
            f"(request.operation != 'CREATE' && {labelled('oldObject')}) || ({_MAY_TAKE_A_NAME})"
        },
        variables={
            "marked": f"request.operation != 'CREATE' || {labelled('object')} || {made}",
            "before": annotations_of("oldObject"),
            "after": annotations_of("object"),
            "owners": f"request.operation == 'UPDATE' ? oldObject.{OWNERS}.map(owner, {_owned('owner')}) : []",
        },
        validations=(
            # A match condition cannot read the tenant's name.
            Validation(
                f"variables.marked || (request.resource.resource != 'secrets' ? {NAME} != {TENANT} : "
                f"!({NAME}.startsWith({TENANT}) && "
                f"{NAME}.substring(size({TENANT})).matches({text('^' + SECRET_SUFFIX)})))",
                concatenated(
                    OBJECT,
                    text(" uses a name reserved for platform objects; choose another"),
                ),
            ),
            Validation(
                "!variables.marked || "
                "request.operation == 'UPDATE' && request.resource.group.endsWith('.fluxcd.io') && "
                f"{unchanged('metadata')}"
                f" && {kept_annotations('variables.before', 'variables.after')}"
                f" && {kept_annotations('variables.after', 'variables.before')}",
                concatenated(
                    OBJECT,
                    text(
                        f" has the label {TENANT_LABEL}, which marks platform objects; tenants cannot create or "
                        "change them: remove the label, or ask the platform team for the change"
                    ),
                ),
            ),
            Validation(
                "request.operation != 'UPDATE' || "
                f"object.{OWNERS}.all(owner, owner.operation != 'Apply' || {_owned('owner')} in variables.owners || "
                f"{_asks('owner.?fieldsV1.orValue({})')})",
                concatenated(
                    OBJECT,
                    text(
                        " belongs to the platform; applying it, even unchanged, would make the tenant an owner of "
                        "its fields; remove it from your manifests"
                    ),
                ),
            ),
        ),
    )


def tenant_namespace() -> Policy:
    """Only the platform changes a tenant's namespace.

    The policy has no namespace selector, since that would match the labels after the change.
    """
    return Policy(
        name=PolicyName.TENANT_NAMESPACE,
        refuses="changing and deleting the namespace itself",
        threats=(11,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("namespaces", "namespaces/finalize", "namespaces/status"), ("UPDATE", "DELETE")),),
        conditions={"of-a-tenant": labelled("oldObject")},
        validations=(
            Validation(
                _NEVER,
                concatenated(
                    text("Namespace "),
                    NAME,
                    text(": only the platform team may change it and its labels, annotations and finalizers"),
                    ASK,
                ),
            ),
        ),
        tenant_namespaces_only=False,
    )


def tenant_limits() -> Policy:
    """A tenant cannot write its own limits, nor the endpoints of Services, which would bypass network policies."""
    return Policy(
        name=PolicyName.TENANT_LIMITS,
        refuses="any change of quotas, limits, network policies and endpoints",
        threats=(11,),
        subject=Subject.TENANTS,
        resources=(
            Resources("", ("endpoints", "limitranges", "resourcequotas"), ANY_CHANGE),
            Resources("discovery.k8s.io", ("endpointslices",), ANY_CHANGE),
            Resources("networking.k8s.io", ("networkpolicies",), ANY_CHANGE),
        ),
        validations=(
            Validation(
                _NEVER,
                concatenated("request.kind.kind", text(": only the platform team may change these objects"), ASK),
            ),
        ),
    )


def tenant_access(*, makes_namespaces: bool = False) -> Policy:
    """A tenant grants access only to its own service accounts, and creates no tokens that outlive their pods.

    Kubernetes itself prevents that it grants more rights than it has.

    Args:
        makes_namespaces: whether tenants make namespaces.
    """
    namespace = is_own("subject.?namespace.orValue('')", OWN_NAMESPACES, makes_namespaces=makes_namespaces)
    own = f"subject.kind == 'ServiceAccount' && {namespace}"
    return Policy(
        name=PolicyName.TENANT_ACCESS,
        refuses="role bindings for subjects other than the tenant's service accounts, service account tokens outside "
        "of pods, and annotations `*.auth.fluxcd.io/*` of service accounts",
        threats=(10, 17, 18),
        subject=Subject.TENANTS,
        resources=(
            Resources(RBAC, ("rolebindings",)),
            Resources("", ("secrets", "serviceaccounts/token"), ("CREATE",)),
            Resources("", ("serviceaccounts",)),
        ),
        # Most Secrets and service accounts do not concern this policy.
        conditions={
            "gives-access": f"request.kind.kind == 'Secret' ? object.?type.orValue('') == {text(_TOKEN)} : "
            f"request.kind.kind != 'ServiceAccount' || size({_LOGINS}) > 0",
        },
        variables={"subjects": "request.kind.kind == 'RoleBinding' ? object.?subjects.orValue([]) : []"},
        validations=(
            Validation(
                f"variables.subjects.all(subject, {own})",
                concatenated(
                    text("subjects: "),
                    joined(
                        f"variables.subjects.filter(subject, !({own})).map(subject, "
                        "subject.kind + ' ' + subject.?namespace.orValue('') + "
                        "(subject.?namespace.orValue('') == '' ? '' : '/') + subject.name)"
                    ),
                    text(" is not a service account of tenant "),
                    TENANT,
                    text("; bind only service accounts of these namespaces: "),
                    joined(OWN_NAMESPACES),
                    ASK,
                ),
            ),
            Validation(
                "request.kind.kind != 'Secret'",
                concatenated(
                    text(f"type {_TOKEN} creates a token that never expires; use a projected volume of the pod"), ASK
                ),
            ),
            Validation(
                "request.kind.kind != 'ServiceAccount'",
                concatenated(
                    text("metadata.annotations "),
                    joined(_LOGINS),
                    text(" select the logins, roles and audiences of the tokens that Flux creates; remove them"),
                    ASK,
                ),
            ),
            Validation(
                "request.kind.kind != 'TokenRequest'",
                concatenated(text("service account tokens are issued only to pods; use a projected volume"), ASK),
            ),
        ),
    )


def status_writes() -> Policy:
    """Only Flux writes the status of its objects, and only Kubernetes the status of quotas, pods and services.

    The status of Ingresses limits nothing, and an Ingress controller may be the tenant's own. But Kubernetes also takes
    metadata from such a request, which other policies have not seen.
    Source: ingressStatusStrategy in pkg/registry/networking/ingress/strategy.go of Kubernetes 1.37

    A ControllerRevision is what a StatefulSet was: its controller creates pods from it, and no policy checks that
    controller as a tenant. What it creates pods from is checked when a tenant writes it: the templates of workloads.
    """
    groups = dict.fromkeys(group for group, _ in MANAGED if group.endswith(_FLUX))
    of_flux = f"request.resource.group.endsWith({text(_FLUX)})"
    on_ingress = "request.resource.resource == 'ingresses'"
    return Policy(
        name=PolicyName.STATUS_WRITES,
        refuses="writing the status of Flux's objects, of quotas, pods, services, claims, workloads and disruption "
        "budgets, binding a pod to a node, ControllerRevisions, and any change of ExternalArtifacts",
        threats=(12, 37, 50),
        subject=Subject.TENANTS,
        resources=(
            *(Resources(group, ("*/status",), ("UPDATE",)) for group in (*groups, *_STATUS_GROUPS)),
            Resources("", ("bindings", "pods/binding"), ("CREATE",)),
            Resources("apps", ("controllerrevisions",)),
            Resources("source.toolkit.fluxcd.io", ("externalartifacts",), ANY_CHANGE),
        ),
        # They write all the time, and a webhook must block neither scheduling nor kubelets.
        conditions={"not-by-kubernetes": _NOT_BY_KUBERNETES},
        validations=(
            Validation(
                f"!{of_flux}",
                concatenated(
                    OBJECT,
                    text(": only Flux's controllers may write this status; change the source's spec instead"),
                ),
            ),
            Validation(
                "request.resource.resource != 'controllerrevisions'",
                concatenated(
                    OBJECT,
                    text(
                        ": only Kubernetes may write ControllerRevisions; remove it, and change the StatefulSet or "
                        "DaemonSet instead"
                    ),
                ),
            ),
            Validation(
                f"!({on_ingress}) || {unchanged('metadata')} && "
                "object.metadata.?annotations == oldObject.metadata.?annotations",
                concatenated(
                    OBJECT,
                    text(
                        ": a change of its status must not change its labels, annotations, finalizers and owners; "
                        "change these in the object itself"
                    ),
                ),
            ),
            Validation(
                f"{of_flux} || {on_ingress}",
                concatenated(
                    OBJECT,
                    text(": only Kubernetes may write this status; change the spec instead"),
                ),
            ),
        ),
    )


def policy_objects() -> Policy:
    """A tenant cannot write Kyverno policies or exceptions."""
    return Policy(
        name=PolicyName.POLICY_OBJECTS,
        refuses="any change of Kyverno's objects",
        threats=(22,),
        subject=Subject.TENANTS,
        resources=tuple(Resources(group, ("*/*",), ANY_CHANGE) for group in ("kyverno.io", "policies.kyverno.io")),
        validations=(
            Validation(
                _NEVER,
                concatenated("request.kind.kind", text(": only the platform team may change objects of Kyverno"), ASK),
            ),
        ),
    )


def ephemeral_containers() -> Policy:
    """No containers are added to running pods, past the checks of pods."""
    return Policy(
        name=PolicyName.EPHEMERAL_CONTAINERS,
        refuses="adding containers to a running pod",
        threats=(19,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("pods/ephemeralcontainers",), ("UPDATE",)),),
        validations=(
            Validation(
                _NEVER,
                concatenated(
                    text("only the platform team may add ephemeral containers; use a separate debug pod"), ASK
                ),
            ),
        ),
    )


def annotations_of(part: str) -> str:
    return f"{part}.metadata.?annotations.orValue({{}})"


def _owned(owner: str) -> str:
    """CEL for a field manager and its fields, as a value that can be compared."""
    return f"[dyn({owner}.?manager.orValue('')), dyn({owner}.operation), dyn({owner}.?fieldsV1.orValue({{}}))]"


def _asks(fields: str) -> str:
    """CEL for whether managed fields only request a reconciliation."""
    metadata, annotations = "f:metadata", "f:annotations"
    return (
        f"({fields}.all(key, key == {text(metadata)}) && {fields}[?{text(metadata)}].orValue({{}}).all(key, "
        f"key == {text(annotations)} && {fields}[{text(metadata)}][key].all(name, "
        f"name == '.' || name.startsWith({text('f:' + _REQUESTS)}))))"
    )


def kept_annotations(some: str, others: str) -> str:
    """CEL for whether the first annotations are all among the second, ignoring requests for reconciliation."""
    return f"{some}.all(key, key.startsWith({text(_REQUESTS)}) || (key in {others} && {some}[key] == {others}[key]))"
