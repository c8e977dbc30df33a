"""Admission that only Kubernetes can do, with each engine: it reads further objects as parameters, or changes requests.

Tenant labels: a label on a namespace of the cluster itself would apply the tenants' policies to the platform's pods,
and a label with the name of a listed tenant would open that tenant's network to the namespace. Kyverno's webhooks leave
out kube-system and Kyverno's namespace, and only Kubernetes can read the other namespaces of a tenant without a
webhook.

Limits first: a namespace that a tenant has made stays empty until all of its limits are in it. Capsule makes the limits
and the tenant's rights at the same time, and repeats what fails; meanwhile, a tenant could use a namespace whose
network policy or quota is late, or cannot be written at all. Who asks makes no difference: where there is no parameter,
the API server denies before it evaluates any condition. So this is about what tenants create, without what Kubernetes
itself creates in each namespace.

Mutations set labels of lanes, and accounts and fields that objects leave out, before they are judged.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.entries import concatenated, text, texts
from flux_tenancy.components.cluster.component import read_access
from flux_tenancy.components.cluster.config import Subject
from flux_tenancy.components.config.types import DNS_LABEL, RESERVED_NAMES, RESERVED_PREFIXES
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.policies.policy import TENANT as TENANT_OF_NAMESPACE
from flux_tenancy.components.policies.policy import Resources, labelled, tenant_resources
from flux_tenancy.components.policies.policy_files import read_objects
from flux_tenancy.components.policies.rendering import (
    ACTIONS,
    OBJECT_PREFIX,
    TENANT_NAMESPACES,
    changes,
    native_manifests,
)
from flux_tenancy.components.tenant.capsule.config import LIMIT_LABEL, SELF_MADE, TENANT
from flux_tenancy.components.tenant.capsule.objects import required_limits
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PolicyMode
    from flux_tenancy.components.tenant.config import TenancyConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

TENANT_NAME = f"object.metadata.labels[{text(TENANT_LABEL)}]"
"""CEL for the tenant that a labelled namespace names."""
_NAME = "object.metadata.name"
_NAMES, _LISTED = f"{OBJECT_PREFIX}tenant-labels", f"{OBJECT_PREFIX}listed-tenants"
_OF_STACK = {MANAGED_BY_LABEL: MANAGER}
# A tenant that makes namespaces with Capsule may create and patch them in the whole cluster.
_IS_PLATFORM = "authorizer.group('').resource('namespaces').check('update').allowed()"


def tenant_labels(mode: PolicyMode, *, makes_namespaces: bool) -> list[Manifest]:
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
    return native_manifests(name, specification, ACTIONS[mode])


def _validation(expression: str, *message: str) -> Manifest:
    return {"expression": expression, "messageExpression": concatenated(*message), "reason": "Forbidden"}


_API = "admissionregistration.k8s.io/v1"
_PLURALS = {"LimitRange": "limitranges", "NetworkPolicy": "networkpolicies", "ResourceQuota": "resourcequotas"}
# The certificate of the API server and the account `default`.
_BY_KUBERNETES = (("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default"))


def limits_first(tenancy: TenancyConfig) -> list[Manifest]:
    """A policy for each kind of limits, with a binding for each limit that has to exist first."""
    limits = required_limits(tenancy)
    kinds = dict.fromkeys((api_version, kind) for api_version, kind, _ in limits)
    bindings = [_limit_binding(kind, limit) for _, kind, limit in limits]
    return [*(_limit_policy(api_version, kind) for api_version, kind in kinds), *bindings]


def _limit_policy_name(kind: str) -> str:
    return f"{OBJECT_PREFIX}limits-first-{_PLURALS[kind]}"


def _limit_policy(api_version: str, kind: str) -> Manifest:
    own = f"params.metadata.labels[{text(TENANT_LABEL)}] == {TENANT_OF_NAMESPACE}"
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _limit_policy_name(kind)},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": api_version, "kind": kind},
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": dict(SELF_MADE)},
                "resourceRules": [each.rule("Namespaced") for each in tenant_resources(("CREATE",))],
                "excludeResourceRules": list(_by_kubernetes()),
            },
            # A binding denies where its limit is missing.
            "validations": [{"expression": own, "message": f"the {kind} of this namespace belongs to another tenant"}],
        },
    }


def _limit_binding(kind: str, limit: str) -> Manifest:
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{OBJECT_PREFIX}limits-first-{limit}"},
        "spec": {
            "policyName": _limit_policy_name(kind),
            "paramRef": {
                "selector": {"matchLabels": {LIMIT_LABEL: limit}, **TENANT_NAMESPACES},
                "parameterNotFoundAction": "Deny",
            },
            "validationActions": ["Deny"],
        },
    }


def _by_kubernetes() -> Iterable[Manifest]:
    for resource, name in _BY_KUBERNETES:
        yield Resources("", (resource,), ("CREATE",)).rule("Namespaced") | {"resourceNames": [name]}


MUTATING = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
"""Their resources, which only some stacks have."""


def mutation(name: str, readers: Sequence[Subject] = ()) -> list[Manifest]:
    """A MutatingAdmissionPolicy and its binding, and a role to read them.

    Args:
        name: its folder: `pod-defaults`, `set-accounts` or `set-lanes`.
        readers: who may preview and audit the stack.
    """
    policy, *others = read_objects(name)
    if name == "set-lanes":
        rules = [Resources(group, names).rule("Namespaced") for group, names in LANED_RESOURCES.items()]
        policy["spec"]["matchConstraints"]["resourceRules"] = rules
    access = read_access(
        f"{OBJECT_PREFIX}{name}", (("admissionregistration.k8s.io", MUTATING),), dict.fromkeys(readers)
    )
    return [policy, *others, *access]
