"""What the tenant package says while tenants come and go."""

from __future__ import annotations

from components.config.wordings import Wording

QUOTA_NOT_COUNTED = Wording(
    "FT-TEN-001",
    "the cluster has not started to count {resources} in namespace {namespace} within {seconds:.0f} s and refuses such "
    "objects until it does",
    "check that kube-controller-manager is healthy, and run the update again",
)
ACCESS_REMOVED = Wording(
    "FT-TEN-010",
    "tenant {tenant}: Flux did not prune {sync} in time; its role bindings and service account are deleted now, and "
    "what Flux applied goes with the namespaces",
)
SYNC_NOT_PRUNED = Wording("FT-TEN-011", "tenant {tenant}: {sync} is not pruned, and its access may remain: {reason}")
FLUX_ASKED = Wording(
    "FT-TEN-012",
    "{controller} has not removed its finalizer from {object} within {seconds} s; it is asked to reconcile it and gets "
    "as long again",
)
FINALIZER_REMOVED = Wording(
    "FT-TEN-013",
    "{controller} has not removed its finalizer from {object} in {seconds} s; it is deleted without. What the "
    "controller has stored of it goes when its pod restarts",
)
OBJECT_NOT_DELETED = Wording("FT-TEN-014", "{object} is not deleted: {reason}")
FINALIZERS_UNKNOWN = Wording("FT-TEN-015", "{object} still exists; cannot read what blocks its deletion: {reason}")
OBJECT_HELD = Wording(
    "FT-TEN-016",
    "{object} still exists",
    "check that {controller} is healthy. Once nothing needs its finalizers, remove them and run `pulumi up` "
    "again:{finalizers}",
)
SYNC_HELD = Wording(
    "FT-TEN-017", f"tenant {{tenant}}: its access is removed, but {OBJECT_HELD.text}", OBJECT_HELD.remedy
)
NAMESPACE_FINALIZERS_UNKNOWN = Wording(
    "FT-TEN-018", "namespace {namespace}: cannot read what blocks its deletion: {reason}"
)
NAMESPACE_NOT_RELEASED = Wording("FT-TEN-019", "namespace {namespace}: cannot remove Flux's finalizers: {reason}")
NAMESPACE_RELEASED = Wording(
    "FT-TEN-020",
    "namespace {namespace}: Flux did not finalize {count} of its objects in time; they are deleted without, since "
    "nobody has access to them any more",
)
NAMESPACE_HELD = Wording(
    "FT-TEN-021",
    "namespace {namespace} is still being deleted, and the objects below block it",
    "once nothing needs their finalizers, remove them and run `pulumi up` again; until then, `pulumi up "
    "--continue-on-error` removes other tenants:{finalizers}",
)
PODS_ENDED = Wording(
    "FT-TEN-022",
    "namespace {namespace}: {count} of its pods had not ended in time and were deleted with a grace period of 0",
)
PODS_NOT_ENDED = Wording("FT-TEN-023", "namespace {namespace}: cannot delete the pods that have not ended: {reason}")
