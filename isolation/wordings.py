"""What the isolation suite says when it cannot go on, and what its inventory finds."""

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
NEEDS_ONE_INTENT = Wording(
    "FT-ISO-007",
    "--profile says what is intended on a cluster without a stack; the stack {stack} says it itself",
    "leave out --stack or --profile",
)

DIFFERS = Wording(
    "FT-ISO-100",
    "an object of the stack was changed",
    "restore it with `make repair` and `pulumi up`, or declare the change in the stack",
)
MISSING = Wording(
    "FT-ISO-101", "an object of the stack is missing", "create it again with `make repair` and `pulumi up`"
)
FURTHER_BINDING = Wording(
    "FT-ISO-102",
    "a binding gives rights that the stack does not give",
    "delete the binding, or declare the rights in the stack: as a grant, or under people",
)
FURTHER_OPENING = Wording(
    "FT-ISO-103",
    "a network policy opens what the stack keeps closed",
    "delete it, or declare the opening under network of the tenant",
)
UNLISTED_NAMESPACE = Wording(
    "FT-ISO-104",
    "a namespace belongs to a tenant that does not have it in the stack",
    "list it in the tenant's namespaces, or remove the label {label}",
)
EXEMPTION = Wording("FT-ISO-105", "an exemption from Kyverno's policies", "delete it, or declare a grant of the tenant")
NOT_ENFORCED = Wording(
    "FT-ISO-106", "an engine does not enforce the policies", "find out why, then run `make repair` and `pulumi up`"
)
NOT_CALLED = Wording(
    "FT-ISO-107",
    "Kyverno is not asked, or need not answer, about a tenant's namespace",
    "compare the webhooks with Kyverno's settings, and restart Kyverno's admission controller",
)
NOT_COMPARED = Wording(
    "FT-ISO-108",
    "the API server does not say how it would store an object of the stack",
    "use credentials with cluster-admin rights, and see that the cluster's webhooks answer",
)
LEFT_OUT = Wording(
    "FT-ISO-109",
    "Kyverno is set to leave out what its policies would refuse",
    "restore Kyverno's release with `pulumi up --refresh`",
)
AGGREGATED = Wording(
    "FT-ISO-110",
    "a ClusterRole adds rights to Kubernetes' role `admin`, which the tenant has",
    "remove its labels {label}…, or give the tenant its rights as a grant",
)

WEAK_POD_SECURITY = Wording(
    "FT-ISO-120", "Pod Security is weaker than the profile", "set the label {label} of the namespace"
)
NO_QUOTA = Wording("FT-ISO-121", "no quota limits the number of objects", "create a ResourceQuota with count/… items")
NO_DEFAULT_DENY = Wording(
    "FT-ISO-122", "pods are not isolated", "create a NetworkPolicy for all pods with Ingress and Egress, without rules"
)
OPEN_TO_ALL = Wording(
    "FT-ISO-123", "a network policy opens all pods to everything", "name the peers in its rules, or delete it"
)
BROAD_BINDING = Wording(
    "FT-ISO-124", "a binding gives more than the profile allows", "bind a narrower role, or delete the binding"
)
ONLY_AUDITED = Wording("FT-ISO-125", "a policy refuses nothing", "set its validationActions to Deny")
