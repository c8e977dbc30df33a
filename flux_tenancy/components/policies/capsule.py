"""The policies in a stack whose tenants make namespaces themselves, with Capsule.

Capsule lets the service accounts of tenants create and patch namespaces in the whole cluster, and refuses by its
webhooks what is not theirs. These policies refuse it as well: they tell the platform from a tenant by the right to
update or list all namespaces, which no tenant has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts
from flux_tenancy.components.config.types import RESERVED_PREFIXES
from flux_tenancy.components.installs.capsule.objects import CAPSULE_GROUP
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import ANY_CHANGE, Policy, Resources, Validation
from flux_tenancy.components.policies.request import APPLIED_KEYS, ASK, NAME, SUBRESOURCE
from flux_tenancy.components.tenant.capsule.names import (
    CAPSULE_TENANT_LABEL,
    MADE_BY_TENANT,
    OWNER,
    SELF_MADE,
    SETTINGS,
    TENANT,
)
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.tenant.network import NAMESPACE_NAME_LABEL
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, TENANT_LABEL

_PLATFORM_VERBS = (
    "{'CREATE': ['list', 'update'], 'UPDATE': ['list', 'update'], 'DELETE': ['delete', 'deletecollection']}"
    "[request.operation]"
)
_POD_SECURITY = pod_security_labels(PodSecurity.RESTRICTED)
_PLATFORM_LABELS = (CAPSULE_TENANT_LABEL, MANAGED_BY_LABEL, NAMESPACE_NAME_LABEL, TENANT_LABEL, *_POD_SECURITY)
_IS_FREE = f"(key != {text(MANAGED_BY_LABEL)} && {texts(APPLIED_KEYS)}.exists(prefix, key.startsWith(prefix)))"
_NAMESPACE = "(request.operation == 'CREATE' ? object : oldObject)"


def with_capsule(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """The table of policies for tenants that make namespaces: the same names, in the same order."""
    changed = {PolicyName.TENANT_NAMESPACE: _tenant_namespace, PolicyName.POLICY_OBJECTS: _policy_objects}
    return tuple(changed[each.name](each) if each.name in changed else each for each in policies)


def _tenant_namespace(policy: Policy) -> Policy:
    """A tenant makes namespaces with the platform's labels and annotations, and changes no others.

    It may delete what it has made, and change what Flux and Helm write on everything.
    """
    made = (
        f"{_value(_NAMESPACE, 'labels', MANAGED_BY_LABEL)} == {text(MADE_BY_TENANT)} && "
        f"{_value(_NAMESPACE, 'annotations', OWNER)} == request.userInfo.username"
    )
    main = f"{SUBRESOURCE} == ''"
    entries = {
        f"{part}-{when}": f"{applies} ? {of}.metadata.?{part}.orValue({{}}) : {{}}"
        for part in ("labels", "annotations")
        for when, of, applies in (
            ("before", "oldObject", "request.operation == 'UPDATE'"),
            ("after", "object", "request.operation != 'DELETE'"),
        )
    }
    variables = {name.replace("-", "_"): expression for name, expression in entries.items()}
    for part in ("labels", "annotations"):
        before, after = f"variables.{part}_before", f"variables.{part}_after"
        variables[f"{part}_changed"] = (
            f"{after}.filter(key, !(key in {before}) || {before}[key] != {after}[key]) + "
            f"{before}.filter(key, !(key in {after}))"
        )
    listed = f"{_value('object', 'annotations', SETTINGS)}.split(' ')"
    created = "request.operation == 'CREATE'"
    variables |= {
        "own": f"{main} && {made}",
        "foreign": f"variables.labels_changed.filter(key, !({_IS_FREE} || ({created} && key in "
        f"{texts(_PLATFORM_LABELS)}))) + variables.annotations_changed.filter(key, !({_IS_FREE} || ({created} && "
        f"key in {listed})))",
    }
    tenant = _value("object", "labels", TENANT_LABEL)
    expected = " && ".join(
        f"{_value('object', 'labels', key)} == {text(value)}" for key, value in (SELF_MADE | _POD_SECURITY).items()
    )
    held = concatenated(
        text("Namespace "), NAME, text(": only the platform sets finalizers and owner references; remove them"), ASK
    )
    reserved = f"{texts(RESERVED_PREFIXES)}.exists(prefix, {NAME}.startsWith(prefix))"
    return replace(
        policy,
        refuses="namespaces of other tenants and of the platform, and platform labels and annotations on the tenant's "
        "namespaces",
        resources=(
            Resources("", ("namespaces",), ANY_CHANGE),
            Resources("", ("namespaces/finalize", "namespaces/status"), ("UPDATE",)),
        ),
        # A tenant may patch any namespace, but delete only those in which it has a role.
        conditions={
            "of-a-tenant": f"request.operation != 'DELETE' || {text(TENANT_LABEL)} in "
            "oldObject.metadata.?labels.orValue({})"
        },
        variables=variables,
        validations=(
            Validation(
                "variables.own",
                concatenated(
                    text("Namespace "),
                    NAME,
                    text(
                        " was not created by this tenant; only the platform team may change it and its labels, "
                        "annotations and finalizers"
                    ),
                    ASK,
                ),
            ),
            Validation(
                f"request.operation != 'CREATE' || {tenant} == {_value('object', 'labels', CAPSULE_TENANT_LABEL)} && "
                f"{expected} && {NAME}.startsWith({tenant} + '-') && !{reserved}",
                concatenated(
                    text("Namespace "),
                    NAME,
                    text(" lacks this tenant's name prefix or labels; choose a name that starts with "),
                    tenant,
                    text("-, and remove the labels that the platform sets"),
                ),
            ),
            Validation(
                "size(variables.foreign) == 0",
                concatenated(
                    text("Namespace "),
                    NAME,
                    text(": only the platform sets "),
                    joined("variables.foreign"),
                    text("; remove it"),
                    ASK,
                ),
            ),
            Validation(
                "request.operation != 'CREATE' || size(object.metadata.?finalizers.orValue([])) == 0 && "
                "object.?spec.?finalizers.orValue([]).all(each, each == 'kubernetes') && "
                # Capsule adds the tenant's own Tenant before the policies see the namespace.
                "object.metadata.?ownerReferences.orValue([]).all(owner, "
                f"owner.apiVersion.startsWith({text(CAPSULE_GROUP + '/')}) && owner.kind == {text(TENANT)} && "
                f"owner.name == {tenant})",
                held,
            ),
            Validation(
                "request.operation != 'UPDATE' || "
                + " && ".join(
                    f"object.{path} == oldObject.{path}"
                    for path in ("?spec", "metadata.?finalizers", "metadata.?ownerReferences")
                ),
                held,
            ),
        ),
        platform_verbs=_PLATFORM_VERBS,
    )


def _policy_objects(policy: Policy) -> Policy:
    """A tenant cannot write Capsule's objects either, some of which Capsule applies with rights of its own."""
    return replace(
        policy,
        refuses="any change of Kyverno's and Capsule's objects",
        resources=(*policy.resources, Resources(CAPSULE_GROUP, ("*/*",), ANY_CHANGE)),
        validations=tuple(
            replace(each, message=each.message.replace("objects of Kyverno", "objects of Kyverno and Capsule"))
            for each in policy.validations
        ),
    )


def _value(of: str, part: str, key: str) -> str:
    """CEL for a label or an annotation of an object; empty without it."""
    return f"{of}.metadata.?{part}[?{text(key)}].orValue('')"
