"""What the isolation suite says when it cannot go on."""

from __future__ import annotations

from components.config.wordings import Wording

NEEDS_LIVE = Wording(
    "FT-ISO-001",
    "--without role asks as a user with all rights, which needs a RoleBinding during the run",
    "add --live",
)
NO_TENANTS = Wording("FT-ISO-002", "no namespace of the cluster has a tenant label", "name one with --namespace")
SEVERAL_TENANTS = Wording(
    "FT-ISO-003",
    "--namespace and --service-account apply to a single tenant",
    "name that tenant with --tenant",
)
NO_TENANT_WITH_RIGHTS = Wording(
    "FT-ISO-004", "no tenant has a service account with rights", "name one with --service-account"
)
UNWRITABLE_FILE = Wording("FT-ISO-005", "{file} cannot be written: {reason}", "name another file with --file")
CLUSTER_FAILS = Wording("FT-ISO-006", "{cluster}: {reason}", "fix that first")
MAY_NOT_IMPERSONATE = Wording(
    "FT-ISO-010",
    "the suite's user may not impersonate {user}: {reason}",
    "use credentials with cluster-admin rights",
)
MAY_NOT_REVIEW_ACCESS = Wording(
    "FT-ISO-011",
    "the suite's user may not create SubjectAccessReviews: {reason}",
    "use credentials with cluster-admin rights",
)
UNKNOWN_NAMESPACE = Wording(
    "FT-ISO-020", "the cluster has no namespace {namespace}", "name an existing one with --namespace"
)
UNKNOWN_TENANT = Wording(
    "FT-ISO-021",
    "no namespace has the label {label}: {tenant}; the cluster has these tenants: {tenants}",
    "name an existing tenant with --tenant, or its namespace with --namespace",
)
UNKNOWN_ACCOUNT = Wording(
    "FT-ISO-022",
    "the namespace {namespace} has no service account {account}",
    "name the account that Flux impersonates",
)
UNCLEAR_ACCOUNT = Wording(
    "FT-ISO-023",
    "cannot detect the account that Flux impersonates in {namespaces}; bound there: {accounts}",
    "name it with --service-account, and its namespace with --namespace",
)
NO_FLUX = Wording("FT-ISO-024", "Flux is not installed: the cluster serves no Kustomizations", "install Flux first")
NO_ROLE_BINDING = Wording(
    "FT-ISO-030", "cannot create a RoleBinding in {namespace}: {reason}", "run without --without role"
)
MAY_BE_LEFT = Wording("FT-ISO-031", "created objects may still exist: {reason}", "delete what has the label {label}")
LEFT = Wording("FT-ISO-032", "not removed from {namespace}: {objects}", "delete what has the label {label}")
