"""Policies about what is the platform's alone in a tenant's namespace, whatever role the tenant has there."""

from __future__ import annotations

from components.allowlists.cel import concatenated, joined, text, texts
from components.cluster.object_meta import SECRET_SUFFIX
from components.policies.names import PolicyName
from components.policies.policy import ANY_CHANGE, Policy, Resources, Subject, Validation, tenant_resources
from components.policies.request import ASK, NAME, OBJECT, OWN_NAMESPACES, TENANT
from components.sync.names import TENANT_LABEL
from components.tenant.role import MANAGED

_RBAC = "rbac.authorization.k8s.io"
_ACCESS = Resources(_RBAC, ("rolebindings", "roles"), ANY_CHANGE)
# A tenant's apply of what is there already changes nothing but this: it becomes an owner of the fields, and what the
# platform leaves out later stays.
# Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
_OWNERS = "metadata.?managedFields.orValue([])"
# Whether a request may take a name that the platform needs: of what a source is made of, and of its Secrets.
_MAY_TAKE_A_NAME = (
    "request.operation == 'CREATE' && (request.resource.resource in "
    f"{texts(('gitrepositories', 'kustomizations', 'receivers'))} || "
    f"(request.resource.resource == 'secrets' && {NAME}.matches({text(SECRET_SUFFIX)})))"
)
# What `flux reconcile` and its like write, and Flux acts on. Source: https://fluxcd.io/flux/components/
_REQUESTS = "reconcile.fluxcd.io/"
_TOKEN = "kubernetes.io/service-account-token"
_NEVER = "false"
_FLUX = ".fluxcd.io"
# Of Kubernetes' own kinds. A forged status frees what a quota counts, opens an address, or holds up a drain of nodes.
_STATUS_GROUPS = ("", "apps", "autoscaling", "batch", "policy")
_KUBERNETES = ("system:kube-controller-manager", "system:kube-scheduler")
_NOT_BY_KUBERNETES = (
    f"!(request.userInfo.username in {texts(_KUBERNETES)} || 'system:nodes' in request.userInfo.?groups.orValue([]))"
)
# The paths of labels that Kubernetes gives to what it makes.
_TEMPLATES = ("spec.template", "spec.jobTemplate", "spec.jobTemplate.spec.template")


def platform_objects() -> Policy:
    """What carries the tenant label in a tenant's namespace was put there by the platform, and stays as it is.

    Everybody with access may still ask Flux to look at it now.
    """
    templates = " || ".join(_labelled(f"object.?{path.replace('.', '.?')}") for path in _TEMPLATES)
    return Policy(
        name=PolicyName.PLATFORM_OBJECTS,
        refuses="writing, changing and deleting objects with the label `toolkit.fluxcd.io/tenant`, which are "
        "the platform's, applying them unchanged, and taking their names; asking Flux to reconcile them is allowed",
        threats=(11, 14, 39),
        subject=Subject.TENANTS,
        resources=(*tenant_resources(ANY_CHANGE), _ACCESS),
        conditions={
            "platform-object": f"(request.operation != 'DELETE' && ({_labelled('object')} || {templates})) || "
            f"(request.operation != 'CREATE' && {_labelled('oldObject')}) || ({_MAY_TAKE_A_NAME})"
        },
        variables={
            "marked": f"request.operation != 'CREATE' || {_labelled('object')} || {templates}",
            "before": _annotations("oldObject"),
            "after": _annotations("object"),
            "owners": f"request.operation == 'UPDATE' ? oldObject.{_OWNERS}.map(owner, {_owned('owner')}) : []",
        },
        validations=(
            # The condition cannot ask for the tenant's name.
            Validation(
                f"variables.marked || (request.resource.resource != 'secrets' ? {NAME} != {TENANT} : "
                f"!({NAME}.startsWith({TENANT}) && "
                f"{NAME}.substring(size({TENANT})).matches({text('^' + SECRET_SUFFIX)})))",
                concatenated(
                    OBJECT,
                    text(" has a name that is kept for what the platform puts here; choose another one"),
                ),
            ),
            Validation(
                "!variables.marked || "
                "request.operation == 'UPDATE' && request.resource.group.endsWith('.fluxcd.io') && "
                + " && ".join(
                    f"object.{path} == oldObject.{path}"
                    for path in ("?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences")
                )
                + f" && {_kept('variables.before', 'variables.after')}"
                + f" && {_kept('variables.after', 'variables.before')}",
                concatenated(
                    OBJECT,
                    text(
                        f" has the label {TENANT_LABEL}, which marks what the platform put here; a tenant neither "
                        "writes nor makes such objects: leave the label out, or ask the platform team for the change"
                    ),
                ),
            ),
            Validation(
                "request.operation != 'UPDATE' || "
                f"object.{_OWNERS}.all(owner, owner.operation != 'Apply' || {_owned('owner')} in variables.owners || "
                f"{_asks('owner.?fieldsV1.orValue({})')})",
                concatenated(
                    OBJECT,
                    text(
                        " is the platform's, and applying it, even unchanged, would make the tenant an owner of its "
                        "fields; leave it out of what is applied"
                    ),
                ),
            ),
        ),
    )


def tenant_namespace() -> Policy:
    """A tenant's namespace is the platform's to change.

    It has no selector of namespaces: a change is matched by the labels that it would leave.
    """
    return Policy(
        name=PolicyName.TENANT_NAMESPACE,
        refuses="changing and deleting the namespace itself",
        threats=(11,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("namespaces", "namespaces/finalize", "namespaces/status"), ("UPDATE", "DELETE")),),
        conditions={"of-a-tenant": _labelled("oldObject")},
        validations=(
            Validation(
                _NEVER,
                concatenated(
                    text("Namespace "),
                    NAME,
                    text(" and its labels, annotations and finalizers are the platform's"),
                    ASK,
                ),
            ),
        ),
        tenant_namespaces_only=False,
    )


def tenant_limits() -> Policy:
    """A tenant does not write what limits it, nor where its Services lead, which would go round a network policy."""
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
                concatenated("request.kind.kind", text(" objects of this namespace are the platform's alone"), ASK),
            ),
        ),
    )


def tenant_access() -> Policy:
    """A tenant gives nobody access but its own service accounts, and those no tokens that outlive their pods.

    That it gives no more than it has, Kubernetes sees to itself.
    """
    own = f"subject.kind == 'ServiceAccount' && subject.?namespace.orValue('') in {OWN_NAMESPACES}"
    return Policy(
        name=PolicyName.TENANT_ACCESS,
        refuses="role bindings to anybody but the tenant's own service accounts, and tokens of service accounts "
        "outside of pods",
        threats=(10, 18),
        subject=Subject.TENANTS,
        resources=(
            Resources(_RBAC, ("rolebindings",)),
            Resources("", ("secrets", "serviceaccounts/token"), ("CREATE",)),
        ),
        # Most Secrets are none of this policy's.
        conditions={
            "gives-access": f"request.kind.kind != 'Secret' || object.?type.orValue('') == {text(_TOKEN)}",
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
                    text(" is no service account of the tenant "),
                    TENANT,
                    text("; name service accounts of these namespaces only: "),
                    joined(OWN_NAMESPACES),
                    ASK,
                ),
            ),
            Validation(
                "request.kind.kind != 'Secret'",
                concatenated(
                    text(f"type {_TOKEN} asks for a token that never expires; use a projected volume of the pod"), ASK
                ),
            ),
            Validation(
                "request.kind.kind != 'TokenRequest'",
                concatenated(text("tokens of service accounts are given to pods only; use a projected volume"), ASK),
            ),
        ),
    )


def status_writes() -> Policy:
    """What Flux found and made is told by Flux, and what Kubernetes counted, placed and opened, by Kubernetes.

    The status of an Ingress is nobody's limit, and a controller of Ingresses may be the tenant's own.
    """
    groups = dict.fromkeys(group for group, _ in MANAGED if group.endswith(_FLUX))
    of_flux = f"request.resource.group.endsWith({text(_FLUX)})"
    return Policy(
        name=PolicyName.STATUS_WRITES,
        refuses="writing the status of Flux's objects, of quotas, pods, services, claims, workloads and disruption "
        "budgets, binding a pod to a node, and any change of ExternalArtifacts",
        threats=(12, 37),
        subject=Subject.TENANTS,
        resources=(
            *(Resources(group, ("*/status",), ("UPDATE",)) for group in (*groups, *_STATUS_GROUPS)),
            Resources("", ("bindings", "pods/binding"), ("CREATE",)),
            Resources("source.toolkit.fluxcd.io", ("externalartifacts",), ANY_CHANGE),
        ),
        # They write all the time, and an engine that is a webhook must hold up neither scheduling nor kubelets.
        conditions={"not-by-kubernetes": _NOT_BY_KUBERNETES},
        validations=(
            Validation(
                f"!{of_flux}",
                concatenated(
                    OBJECT,
                    text(": what has been fetched is told by Flux's controllers alone; change the spec of the source"),
                ),
            ),
            Validation(
                of_flux,
                concatenated(
                    OBJECT,
                    text(": what has been counted, placed and opened is told by Kubernetes alone; change the spec"),
                ),
            ),
        ),
    )


def policy_objects() -> Policy:
    """A tenant writes no policies and no exceptions from them."""
    return Policy(
        name=PolicyName.POLICY_OBJECTS,
        refuses="any change of Kyverno's objects",
        threats=(22,),
        subject=Subject.TENANTS,
        resources=tuple(Resources(group, ("*/*",), ANY_CHANGE) for group in ("kyverno.io", "policies.kyverno.io")),
        validations=(
            Validation(
                _NEVER, concatenated("request.kind.kind", text(" objects of Kyverno are the platform's alone"), ASK)
            ),
        ),
    )


def ephemeral_containers() -> Policy:
    """A running pod gets no containers that nobody has looked at."""
    return Policy(
        name=PolicyName.EPHEMERAL_CONTAINERS,
        refuses="adding containers to a running pod",
        threats=(19,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("pods/ephemeralcontainers",), ("UPDATE",)),),
        validations=(
            Validation(
                _NEVER,
                concatenated(text("ephemeral containers are the platform's to add; debug in a pod of its own"), ASK),
            ),
        ),
    )


def _labelled(part: str) -> str:
    return f"{text(TENANT_LABEL)} in {part}.?metadata.?labels.orValue({{}})"


def _annotations(part: str) -> str:
    return f"{part}.metadata.?annotations.orValue({{}})"


def _owned(owner: str) -> str:
    """CEL for who manages which fields, as a value that can be compared."""
    return f"[dyn({owner}.?manager.orValue('')), dyn({owner}.operation), dyn({owner}.?fieldsV1.orValue({{}}))]"


def _asks(fields: str) -> str:
    """CEL for whether managed fields are those alone that ask Flux to look."""
    metadata, annotations = "f:metadata", "f:annotations"
    return (
        f"({fields}.all(key, key == {text(metadata)}) && {fields}[?{text(metadata)}].orValue({{}}).all(key, "
        f"key == {text(annotations)} && {fields}[{text(metadata)}][key].all(name, "
        f"name == '.' || name.startsWith({text('f:' + _REQUESTS)}))))"
    )


def _kept(some: str, others: str) -> str:
    """CEL for whether all of the one annotations are among the others, but for what asks Flux to look."""
    return f"{some}.all(key, key.startsWith({text(_REQUESTS)}) || (key in {others} && {some}[key] == {others}[key]))"
