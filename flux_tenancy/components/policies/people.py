"""The policy about people who may patch Flux's objects without being able to update them.

RBAC cannot limit a patch to some fields. So the right to patch without the right to update, which the role for
developers has, is the right to ask: for a reconciliation, to suspend, and to resume.
"""

from __future__ import annotations

from flux_tenancy.components.allowlists.cel import concatenated, text
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Subject, Validation
from flux_tenancy.components.policies.references import FLUX
from flux_tenancy.components.policies.request import OBJECT
from flux_tenancy.components.policies.reserved import OWNERS, annotations_of, kept_annotations

_SUSPEND = "suspend"


def flux_requests() -> Policy:
    """People change nothing of Flux's objects but requests for reconciliation and whether they are suspended.

    Objects of the platform are left to the policy `platform-objects`, which does not let them be suspended: Flux does
    not prune what a suspended Kustomization has applied when its tenant leaves.
    """
    return Policy(
        name=PolicyName.FLUX_REQUESTS,
        refuses="changes of Flux's objects except annotations `reconcile.fluxcd.io/*` and `spec.suspend`, by users who "
        "may patch but not update them, such as developers of a tenant",
        threats=(43,),
        subject=Subject.PATCHERS,
        resources=tuple(each.on(("UPDATE",)) for each in FLUX),
        variables={"before": annotations_of("oldObject"), "after": annotations_of("object")},
        validations=(
            Validation(
                f"{_same_but_suspended('object', 'oldObject')} && {_same_but_suspended('oldObject', 'object')} && "
                + " && ".join(
                    f"object.metadata.?{field} == oldObject.metadata.?{field}"
                    for field in ("labels", "finalizers", "ownerReferences")
                )
                + f" && {kept_annotations('variables.before', 'variables.after')}"
                + f" && {kept_annotations('variables.after', 'variables.before')}"
                # Applying an unchanged object would make the person an owner of its fields.
                + f" && object.{OWNERS}.all(owner, owner.operation != 'Apply' || oldObject.{OWNERS}.exists(other, "
                "other.operation == 'Apply' && other.?manager == owner.?manager))",
                concatenated(
                    OBJECT,
                    text(
                        ": you may patch it only to request a reconciliation, to suspend it and to resume it; make "
                        "other changes in Git"
                    ),
                ),
            ),
        ),
    )


def _same_but_suspended(some: str, other: str) -> str:
    """CEL for whether all fields of a spec are in the other one, except the one that suspends it."""
    mine, others = f"{some}.?spec.orValue({{}})", f"{other}.?spec.orValue({{}})"
    return f"{mine}.all(key, key == {text(_SUSPEND)} || (key in {others} && {mine}[key] == {others}[key]))"
