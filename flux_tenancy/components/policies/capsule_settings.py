"""Admission that binds the settings of a namespace that a tenant makes to its Tenant of Capsule.

Capsule's webhook sets them (`components.tenant.capsule.objects`), and the policies read them from the namespace. If the
webhook is gone, the tenant would choose them: which sources, images and hosts are allowed. It is Kubernetes' own
admission in every stack, since only that can read another object without a webhook.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.policies.native import manifests
from flux_tenancy.components.policies.policy import Resources
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, TENANT_NAMESPACES
from flux_tenancy.components.tenant.annotations import PREFIX
from flux_tenancy.components.tenant.capsule.names import CAPSULE_API, OWNER, SELF_MADE, TENANT
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

_NAME = f"{OBJECT_PREFIX}made-settings"
_MESSAGE = (
    "the annotations of this namespace differ from the platform's settings for this tenant; remove them, and ask "
    "the platform team whether Capsule is healthy"
)


def made_settings() -> list[Manifest]:
    """The policy and its binding; each Tenant of the stack is a parameter."""
    expected, given = "variables.expected", "variables.given"
    same = (
        f"{given}.all(key, !key.startsWith({text(PREFIX)}) || "
        f"(key in {expected} && {expected}[key].managed == {given}[key])) && "
        f"{expected}.all(key, key in {given})"
    )
    tenant = f"object.metadata.?labels[?{text(TENANT_LABEL)}].orValue('')"
    of_others = f"{expected}[{text(OWNER)}].managed != request.userInfo.username"
    specification: Manifest = {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": CAPSULE_API, "kind": TENANT},
        "matchConstraints": {
            "objectSelector": {"matchLabels": dict(SELF_MADE)},
            "resourceRules": [Resources("", ("namespaces",), ("CREATE",)).rule("Cluster")],
        },
        "variables": [
            {"name": "expected", "expression": "params.spec.rules[0].enforce.metadata[0].annotations"},
            {"name": "given", "expression": "object.metadata.?annotations.orValue({})"},
        ],
        # The policy tenant-namespace refuses a namespace with another owner than who creates it.
        "validations": [
            {
                "expression": f"{of_others} || ({tenant} == params.metadata.name && {same})",
                "message": _MESSAGE,
                "reason": "Forbidden",
            }
        ],
    }
    # Without a Tenant there is nobody who may make namespaces.
    tenants = {"selector": TENANT_NAMESPACES, "parameterNotFoundAction": "Allow"}
    return manifests(_NAME, specification, ["Deny"], paramRef=tenants)
