"""What is said about tenants of Capsule."""

from __future__ import annotations

from components.config.wordings import Wording

NAMESPACE_NOT_RELEASED = Wording(
    "FT-CAP-050",
    "namespace {namespace} still belongs to Capsule's Tenant {tenant} after {seconds} s, which would delete it",
    "check that Capsule's controller is healthy (`kubectl describe tenant.capsule.clastix.io {tenant}`), and run "
    "`pulumi up` again",
)
FOREIGN_TENANT = Wording(
    "FT-CAP-051",
    "Capsule has a Tenant {tenant} that this stack does not manage",
    "choose another name for this tenant; to take the Tenant over with its namespaces, set cluster.adopt to true. "
    "Deleting the Tenant deletes the namespaces that it owns",
)
FOREIGN_OWNER = Wording(
    "FT-CAP-052",
    "namespace {namespace} belongs to Capsule's Tenant {tenant}",
    "choose another namespace, or have that Tenant release it",
)
MADE_NAMESPACES_UNLISTED = Wording(
    "FT-CAP-053",
    "has made the namespaces {namespaces}, which the change of tenancy.mode would delete with Capsule's Tenant",
    "add them to its namespaces and run `pulumi up` before you change the mode, or have the tenant remove them from "
    "its repository",
)
SURPLUS_NAMESPACES = Wording(
    "FT-CAP-055",
    "tenant {tenant} has {count} namespaces besides its home and may have {most}: {namespaces}",
    "have the tenant remove some of them from its repository, or raise capsule.namespaces",
)
LIMITS_MISSING = Wording(
    "FT-CAP-054",
    "the namespaces {namespaces} do not have all of their limits after {seconds:.0f} s; nothing can be created there "
    "until they do",
    "check that Capsule is healthy (`kubectl get globaltenantresources.capsule.clastix.io`)",
)
