"""What the program says of the cluster before the first resource, and of the syncs after the last."""

from __future__ import annotations

from components.config.wordings import Wording

WRONG_CLUSTER = Wording(
    "FT-CLU-101",
    "expects cluster {expected}, but the kubeconfig points to {found}",
    "correct cluster.kubeconfig or cluster.context, or cluster.uid if the cluster was replaced",
)
ANOTHER_CLUSTER = Wording(
    "FT-CLU-102",
    "this stack was applied to cluster {known}, but the kubeconfig points to {found}",
    "correct cluster.kubeconfig or cluster.context, or set cluster.uid to {found} if the cluster was replaced",
)
KUBERNETES_TOO_OLD = Wording(
    "FT-CLU-103",
    "Flux {flux} needs Kubernetes {oldest} or later; the cluster runs {version}",
    "upgrade the cluster",
)
NO_ADMISSION_POLICIES = Wording(
    "FT-CLU-104",
    "{engine} needs ValidatingAdmissionPolicies, which Kubernetes has since {since}; the cluster runs {version}",
    "upgrade the cluster, or set policies.engine to kyverno",
)
FOREIGN_FLUX = Wording(
    "FT-CLU-105",
    "the cluster has a namespace {namespace} that does not belong to this stack",
    "set cluster.adopt to take it over (docs/adoption.md); do not delete it, since Flux would then prune what it has "
    "applied",
)
FOREIGN_KYVERNO = Wording(
    "FT-CLU-106",
    "the cluster has a Kyverno that does not belong to this stack ({found}); it cannot be taken over",
    "remove kyverno from the stack and set policies.engine to native; uninstall the other one only once nothing needs "
    "its policies",
)
FOREIGN_CAPSULE = Wording(
    "FT-CAP-020",
    "the cluster has a Capsule that does not belong to this stack ({found}); it cannot be taken over",
    "remove capsule from the stack, and set tenancy.mode to namespaces; do not delete Capsule's Tenants or their "
    "definition, since that deletes the namespaces that they own",
)
FOREIGN_NAMESPACE = Wording(
    "FT-CLU-107",
    "namespace {namespace!r} exists in the cluster and does not belong to this tenant",
    "choose another name, or, if all that is in it is this tenant's, hand it over with `kubectl label namespace "
    "{namespace} --overwrite {labels}`",
)
UNKNOWN_NAMESPACE = Wording(
    "FT-CLU-108",
    "the cluster has no namespace {namespace!r}",
    "create it first, or let the platform's repository create the Role together with it (docs/controller-rights.md)",
)
NAMESPACE_TERMINATING = Wording(
    "FT-CLU-109", "namespace {namespace!r} is still being deleted", "wait until it is gone, and run the command again"
)
NAMESPACE_HELD = Wording(
    "FT-CLU-110",
    "namespace {namespace!r} is still being deleted, and finalizers block it",
    "once nothing needs these finalizers, remove them and run the command again:{finalizers}",
)
NAMESPACE_LOST = Wording(
    "FT-CLU-111",
    "namespace {namespace!r} is gone from the cluster, with {count} of this stack's objects",
    "if that was intended, run `pulumi refresh` and then `pulumi up`, which creates them again",
)
PLATFORM_NAMESPACE_TERMINATING = Wording(
    "FT-CLU-112",
    "namespace {namespace!r} is still being deleted",
    "wait until it is gone, and run `pulumi up --refresh`",
)
OBJECTS_MISSING = Wording(
    "FT-CLU-113",
    "{count} of the objects in this stack's state are missing in the cluster ({shown}), as after an interrupted "
    "`pulumi destroy`",
    "run `pulumi up --refresh`, which creates them again",
)
NAME_TAKEN = Wording(
    "FT-CLU-114",
    "{kind} {name} exists in the cluster and does not belong to the platform, which needs this name",
    "hand it over with `kubectl label {target} {label}={tenant}`, or, once nothing uses it, delete it with "
    "`kubectl delete {target}`",
)
IMMUTABLE_NAME_TAKEN = Wording(
    "FT-CLU-115", NAME_TAKEN.text, "once nothing uses it, delete it with `kubectl delete {target}`"
)
PRUNING_NAME_TAKEN = Wording(
    "FT-CLU-117",
    NAME_TAKEN.text,
    "suspend it with `flux suspend {target}`, so that its deletion leaves what it has applied; then remove it from the "
    "repository that it comes from, if any, which would bring it back, and delete it with `kubectl delete {target}`",
)
_DELETE_ON_PURPOSE = (
    "run `pulumi up --ignore-protect`, or set cluster.protect to false and run `pulumi up` before (docs/running.md)"
)
PROTECTED_OBJECT = Wording(
    "FT-CLU-116",
    "{object} is protected, and this update would delete it with {taken}",
    f"to delete it on purpose, {_DELETE_ON_PURPOSE}",
)

SYNC_NOT_READY = Wording("FT-TEN-101", "{sync} is not ready: {message}{age}")
FLUX_NOT_ASKED = Wording("FT-TEN-102", "cannot ask Flux to reconcile: {reason}")
FURTHER_ACCESS = Wording("FT-TEN-103", "tenant {tenants} has more than its role: {binding}")
FURTHER_ACCESS_UNKNOWN = Wording("FT-TEN-104", "cannot read what tenants may do in addition to their role: {reason}")
LEAVING = Wording(
    "FT-TEN-105",
    "tenant {tenant} is leaving, without a sync and without access; left in namespace {namespace}: {remains}",
    "to delete the namespace with everything in it, remove tenants.{tenant} from the stack; to take the tenant back, "
    "remove its `state` (docs/tenants.md)",
)
REMAINS_UNKNOWN = Wording("FT-TEN-106", "cannot read what is left of tenants that are leaving: {reason}")
PROTECTED_TENANT = Wording(
    "FT-TEN-110",
    "namespace {namespace} of tenant {tenant} is protected, and removing its tenant would delete all that is in it",
    "restore the entry with `state: leaving` and run `pulumi up` before you remove it (docs/tenants.md), or, to delete "
    f"everything at once, {_DELETE_ON_PURPOSE}",
)
PROTECTED_NAMESPACE = Wording(
    "FT-TEN-111",
    "namespace {namespace} of tenant {tenant} is protected, and removing it from the list would delete all "
    "that is in it",
    f"list it again, or, to delete it on purpose, {_DELETE_ON_PURPOSE}",
)
NOT_IN_THE_FILE = Wording(
    "FT-REV-505",
    "stack {stack} takes values from {source}, which its render does not contain",
    "keep all values of the stack in {file}",
)
