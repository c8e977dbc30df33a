"""The policy against what blocks deletion in a tenant's namespace: finalizers, owner references, grace periods."""

from __future__ import annotations

from components.allowlists.cel import concatenated, joined, text, texts
from components.config.types import seconds
from components.policies.config import PoliciesConfig
from components.policies.names import PolicyName
from components.policies.pods import POD
from components.policies.policy import Policy, Resources, Subject, Validation, tenant_resources
from components.policies.rendering import changes
from components.policies.request import ASK, OBJECT

# The garbage collector removes the first two from any object. The third is for Flux's own kinds; it has no domain, so
# Kubernetes refuses it on built-in kinds.
# Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and api/*/v1 of Flux's controllers
_OF_ANY = ("foregroundDeletion", "orphan", "finalizers.fluxcd.io")
# An admission plugin of Kubernetes sets it on every claim. Other finalizers of Kubernetes, of the pods of a Job or of a
# load balancer, are set by its controllers; they remove them from objects of their own only, so a tenant sets none.
# Source: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go of Kubernetes 1.36
_OF_KUBERNETES = ("persistentvolumeclaims kubernetes.io/pvc-protection",)
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
# What `cluster-admin` in the namespace may write in addition to the tenant role.
_OF_OTHER_ROLES = (
    Resources("", ("podtemplates", "replicationcontrollers")),
    Resources("apps", ("controllerrevisions",)),
    Resources("rbac.authorization.k8s.io", ("rolebindings", "roles")),
)


def unheld_deletion(config: PoliciesConfig) -> Policy:
    """A tenant writes nothing that only the platform could delete, or that ends only after hours.

    So offboarding is not blocked by the tenant's objects. Controllers of Kubernetes, Flux and operators may set
    finalizers: they have their rights in the whole cluster.
    """
    known = " || ".join(
        (
            f"finalizer in {texts((*_OF_ANY, *config.finalizers))}",
            f"request.resource.resource + ' ' + finalizer in {texts(_OF_KUBERNETES)}",
        )
    )
    blocking = "owner.?blockOwnerDeletion.orValue(false)"
    longest = config.maximum_termination_grace_period
    grace = f"{POD.format(object='object')}.?terminationGracePeriodSeconds.orValue(0)"
    too_long = f"{grace} > {int(seconds(longest))} && ({changes(POD)})"
    return Policy(
        name=PolicyName.UNHELD_DELETION,
        refuses="finalizers that neither Kubernetes nor Flux takes off again, and `blockOwnerDeletion` on what is "
        "the platform's; and pods and templates of pods that may take longer to end than is allowed",
        threats=(32, 48, 49),
        subject=Subject.TENANTS,
        resources=(*tenant_resources(), *_OF_OTHER_ROLES),
        conditions={
            "holds": f"size({_finalizers('object')}) > 0 || {_owners('object')}.exists(owner, {blocking}) || "
            f"({too_long})",
        },
        variables={
            "before": f"request.operation == 'CREATE' ? [] : {_finalizers('oldObject')}",
            "foreign": f"{_finalizers('object')}.filter(finalizer, !({known} || finalizer in variables.before))",
            "owners": f"{_owners('object')}.filter(owner, {blocking} && owner.kind in {texts(_OWNERS)}"
            ").map(owner, owner.kind + ' ' + owner.name)",
        },
        validations=(
            Validation(
                "size(variables.foreign) == 0",
                concatenated(
                    OBJECT,
                    text(": metadata.finalizers has "),
                    joined("variables.foreign"),
                    text(
                        ", which would keep it from being deleted; leave it out, or ask the platform team to allow it "
                        "in policies.finalizers"
                    ),
                ),
            ),
            Validation(
                "size(variables.owners) == 0",
                concatenated(
                    OBJECT,
                    text(": metadata.ownerReferences would hold the deletion of "),
                    joined("variables.owners"),
                    text(", which is the platform's; leave blockOwnerDeletion out"),
                ),
            ),
            Validation(
                f"!({too_long})",
                concatenated(
                    OBJECT,
                    text(": terminationGracePeriodSeconds is "),
                    f"string({grace})",
                    text(f"; the longest that is allowed is {longest}: shorten it"),
                    ASK,
                ),
            ),
        ),
        settings=("policies.finalizers", "policies.maximumTerminationGracePeriod"),
    )


def _finalizers(part: str) -> str:
    return f"{part}.metadata.?finalizers.orValue([])"


def _owners(part: str) -> str:
    return f"{part}.metadata.?ownerReferences.orValue([])"
