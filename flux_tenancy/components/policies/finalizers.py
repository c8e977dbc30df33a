"""The policy against what blocks or delays deletion in a tenant's namespace: finalizers, owners, grace periods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.policies.kinds import RESOURCE
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.pods import POD, templates
from flux_tenancy.components.policies.policy import (
    CREATE_UPDATE,
    Policy,
    Resources,
    Subject,
    Validation,
    writable_resources,
)
from flux_tenancy.components.policies.rendering import changes
from flux_tenancy.components.policies.request import ASK, OBJECT
from flux_tenancy.components.tenant.kinds import group_resource

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

# The garbage collector removes the first two from any object. The third is for Flux's own kinds; it has no domain, so
# Kubernetes refuses it on built-in kinds.
# Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and api/*/v1 of Flux's controllers
_OF_ANY = ("foregroundDeletion", "orphan", "finalizers.fluxcd.io")
# An admission plugin of Kubernetes sets it on every claim. Other finalizers of Kubernetes, of the pods of a Job or of a
# load balancer, are set by its controllers; they remove them from objects of their own only, so a tenant sets none.
# Source: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go of Kubernetes 1.36
_OF_CLAIMS = ("kubernetes.io/pvc-protection",)
# No object of a tenant has an owner of these kinds, whatever its role.
_OWNERS = (
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "LimitRange",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "RoleBinding",
)
_IS_BLOCKING = "owner.?blockOwnerDeletion.orValue(false)"
# Kinds of other controllers may have anything at the places where these have templates.
_OF_KINDS = (group_resource(each.group, name) for each in writable_resources() for name in each.names)
_HAS_TEMPLATES = f"{RESOURCE} in {texts(_OF_KINDS)}"


def unheld_deletion(config: PoliciesConfig) -> Policy:
    """A tenant's objects, and those that controllers create from its templates, do not block offboarding.

    Controllers of Kubernetes, Flux and operators may set finalizers: they have their rights in the whole cluster.
    """
    now, before = _templates("object"), _templates("oldObject")
    longest = config.maximum_termination_grace_period
    grace = f"{POD.format(object='object')}.?terminationGracePeriodSeconds.orValue(0)"
    too_long = f"({grace} > {int(seconds(longest))} && ({changes(POD)}))"
    return Policy(
        name=PolicyName.UNHELD_DELETION,
        refuses="finalizers that neither Kubernetes nor Flux removes, and `blockOwnerDeletion` on platform objects, "
        "including in templates; changes of the owners of an object with a finalizer; and pods and pod templates "
        "with a termination grace period above the maximum",
        threats=(32, 48, 49),
        subject=Subject.TENANTS,
        resources=(Resources("*", ("*",), CREATE_UPDATE),),
        conditions={
            "blocks": f"{_blocks('object')} || {_HAS_TEMPLATES} && "
            f"(({' + '.join(now.values())}).exists(part, {_blocks('part')}) || {too_long})",
        },
        variables={
            "has_templates": _HAS_TEMPLATES,
            "templates": f"variables.has_templates ? {' + '.join(now.values())} : []",
            "known": f"{texts((*_OF_ANY, *config.finalizers))} + "
            f"(request.resource.resource == 'persistentvolumeclaims' ? {texts(_OF_CLAIMS)} : [])",
            "finalizers": f"{_foreign('metadata', '[object]', '[oldObject]')} + (variables.has_templates ? "
            f"{' + '.join(_foreign(path, now[path], before[path]) for path in now)} : [])",
            "kept": f"{_finalizers('object')}.filter(finalizer, !(finalizer in variables.known))",
            "owners": f"([object] + variables.templates).map(part, {_owners('part')}"
            f".filter(owner, {_IS_BLOCKING} && owner.kind in {texts(_OWNERS)})"
            ".map(owner, owner.kind + ' ' + owner.name).join(', ')).filter(names, names != '')",
        },
        validations=(
            Validation(
                "size(variables.finalizers) == 0",
                concatenated(
                    OBJECT,
                    text(": "),
                    joined("variables.finalizers"),
                    text(
                        ", which would block deletion; remove it, or ask the platform team to allow it in "
                        "policies.finalizers"
                    ),
                ),
            ),
            Validation(
                "size(variables.owners) == 0",
                concatenated(
                    OBJECT,
                    text(": ownerReferences would block the deletion of "),
                    joined("variables.owners"),
                    text(", which belongs to the platform; remove blockOwnerDeletion"),
                ),
            ),
            # A finalizer of Kubernetes stays for good once its controller no longer owns the object.
            Validation(
                "request.operation != 'UPDATE' || size(variables.kept) == 0 || "
                f"{_owners('object')} == {_owners('oldObject')}",
                concatenated(
                    OBJECT,
                    text(": ownerReferences must not change while metadata.finalizers has "),
                    joined("variables.kept"),
                    text(", which the owner's controller removes; restore the ownerReferences"),
                ),
            ),
            Validation(
                f"!(variables.has_templates && {too_long})",
                concatenated(
                    OBJECT,
                    text(": terminationGracePeriodSeconds is "),
                    f"string({grace})",
                    text(f"; the maximum is {int(seconds(longest))} ({longest})"),
                    ASK,
                ),
            ),
        ),
        settings=("policies.finalizers", "policies.maximumTerminationGracePeriod"),
    )


def _templates(part: str) -> Mapping[str, str]:
    """CEL for lists of the templates in an object, by the paths of their metadata."""
    return {f"{path}.metadata": each for path, each in templates(part).items()}


def _foreign(path: str, parts: str, before: str) -> str:
    """CEL for a list of texts: the finalizers there that are neither known nor older than the request."""
    older = f"request.operation == 'UPDATE' && {before}.exists(old, finalizer in {_finalizers('old')})"
    return (
        f"{parts}.map(part, {_finalizers('part')}.filter(finalizer, !(finalizer in variables.known || {older}))"
        f".join(', ')).filter(names, names != '').map(names, {text(f'{path}.finalizers has ')} + names)"
    )


def _blocks(part: str) -> str:
    """CEL for whether a part has something that may block deletion."""
    return f"(size({_finalizers(part)}) > 0 || {_owners(part)}.exists(owner, {_IS_BLOCKING}))"


def _finalizers(part: str) -> str:
    return f"{part}.?metadata.?finalizers.orValue([])"


def _owners(part: str) -> str:
    return f"{part}.?metadata.?ownerReferences.orValue([])"
