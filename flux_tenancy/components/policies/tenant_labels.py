"""Admission that decides which namespaces may get a tenant's label, whoever sets it.

A label on a namespace of the cluster itself would apply the tenants' policies to the platform's pods, and a label with
the name of a listed tenant would open that tenant's network to the namespace. It is Kubernetes' own admission with each
engine: Kyverno's webhooks leave out kube-system and Kyverno's namespace, and only Kubernetes can read the other
namespaces of a tenant without a webhook.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, text, texts
from flux_tenancy.components.config.types import DNS_LABEL, RESERVED_NAMES, RESERVED_PREFIXES
from flux_tenancy.components.installs.capsule.objects import CAPSULE_GROUP
from flux_tenancy.components.policies.native import manifests
from flux_tenancy.components.policies.policy import Resources
from flux_tenancy.components.policies.rendering import ACTIONS, OBJECT_PREFIX, TENANT_NAMESPACES, changes
from flux_tenancy.components.policies.request import labelled
from flux_tenancy.components.tenant.capsule.names import TENANT
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PolicyMode
    from flux_tenancy.components.vocabulary.manifests import Manifest

TENANT_NAME = f"object.metadata.labels[{text(TENANT_LABEL)}]"
"""CEL for the tenant that a labelled namespace names."""
_NAME = "object.metadata.name"
_NAMES, _LISTED = f"{OBJECT_PREFIX}tenant-labels", f"{OBJECT_PREFIX}listed-tenants"
_OF_STACK = {MANAGED_BY_LABEL: MANAGER}
# A tenant that makes namespaces with Capsule may create and patch them in the whole cluster.
_IS_PLATFORM = "authorizer.group('').resource('namespaces').check('update').allowed()"


def tenant_labels(mode: PolicyMode, *, makes_namespaces: bool = False) -> list[Manifest]:
    """The policies and their bindings; each namespace that the stack lists for a tenant is a parameter of the second.

    So neither changes with the tenants.

    Args:
        makes_namespaces: whether tenants make namespaces, which Capsule owns for them.
    """
    policy, binding = _policy(_LISTED, _of_listed_tenants(makes_namespaces=makes_namespaces), mode)
    policy["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "Namespace"}
    selector = {"matchLabels": _OF_STACK, **TENANT_NAMESPACES}
    # Without a listed tenant there is none whose name could be taken.
    binding["spec"]["paramRef"] = {"selector": selector, "parameterNotFoundAction": "Allow"}
    return [*_policy(_NAMES, _of_free_names(), mode), policy, binding]


def is_free(name: str) -> str:
    """CEL for whether a tenant or its namespace may have this name, as in the stack's own check."""
    return (
        f"({name}.matches({text(DNS_LABEL)}) && !({name} in {texts(sorted(RESERVED_NAMES))}) && "
        f"!{texts(RESERVED_PREFIXES)}.exists(prefix, {name}.startsWith(prefix)))"
    )


def _of_free_names() -> list[Manifest]:
    return [
        _validation(
            is_free(name),
            text(subject),
            name,
            text(f" is not a valid tenant name: it is reserved or not a DNS label; {remedy}"),
        )
        for subject, name, remedy in (
            (f"label {TENANT_LABEL} ", TENANT_NAME, "choose another name"),
            ("namespace ", _NAME, f"remove the label {TENANT_LABEL}"),
        )
    ]


def _of_listed_tenants(*, makes_namespaces: bool) -> list[Manifest]:
    """A namespace joins a listed tenant by the stack, as the platform hands it over to the stack, or by Capsule."""
    by_stack = f"object.metadata.labels[?{text(MANAGED_BY_LABEL)}].orValue('') == {text(MANAGER)} && {_IS_PLATFORM}"
    of_capsule = (
        " || object.metadata.?ownerReferences.orValue([]).exists(owner, "
        f"owner.apiVersion.startsWith({text(CAPSULE_GROUP + '/')}) && owner.kind == {text(TENANT)} && "
        f"owner.name == {TENANT_NAME})"
    )
    allowed = f"{by_stack}{of_capsule if makes_namespaces else ''}"
    return [
        _validation(
            f"params.metadata.labels[{text(TENANT_LABEL)}] != {TENANT_NAME} || {allowed}",
            text("namespace "),
            _NAME,
            text(" is not a namespace that the stack lists for tenant "),
            TENANT_NAME,
            text(
                f"; remove the label {TENANT_LABEL}, or, as the platform team, list the namespace for this tenant "
                f"and set the label {MANAGED_BY_LABEL}={MANAGER} as well"
            ),
        )
    ]


def _policy(name: str, validations: list[Manifest], mode: PolicyMode) -> list[Manifest]:
    specification: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "objectSelector": TENANT_NAMESPACES,
            "resourceRules": [
                Resources("", ("namespaces", "namespaces/finalize", "namespaces/status")).rule("Cluster")
            ],
        },
        "matchConditions": [
            {"name": "labelled", "expression": labelled("object")},
            {"name": "anew", "expression": changes(f"{{object}}.metadata.?labels[?{text(TENANT_LABEL)}]")},
        ],
        "validations": validations,
    }
    return manifests(name, specification, ACTIONS[mode])


def _validation(expression: str, *message: str) -> Manifest:
    return {"expression": expression, "messageExpression": concatenated(*message), "reason": "Forbidden"}
