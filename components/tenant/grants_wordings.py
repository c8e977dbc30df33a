"""What is said about the grants of a tenant."""

from __future__ import annotations

from components.config.wordings import Wording

GRANT_EXPIRED = Wording(
    "FT-TEN-400",
    "has passed (today is {today}), so the grant does not hold any more",
    "remove the grant, or have the platform team agree to a later date",
)
EMPTY_GRANT = Wording("FT-TEN-401", "grants nothing", "add one of these: {keys}")
WITHHELD_GROUP = Wording(
    "FT-TEN-402",
    "belongs to {owner}, and what the tenant role does not allow of it is withheld on purpose",
    "name the API group of a custom resource, e.g. cert-manager.io",
)
GROUP_NOT_GRANTABLE = Wording(
    "FT-TEN-413",
    "is not in tenancy.grantableGroups: whoever writes objects of this API group uses the rights of the controller "
    "behind it",
    "if that controller keeps tenants apart, add to the tenancy section: `grantableGroups: [{groups}]`",
)
NOT_A_RESOURCE = Wording(
    "FT-TEN-403",
    "is not the plural name of a resource",
    "name each resource, e.g. certificates or widgets/scale; there are no wildcards",
)
NOT_A_VERB = Wording("FT-TEN-404", "is not a verb that can be granted", "use these: {verbs}")
UNLIMITED_VERB = Wording(
    "FT-TEN-405", "cannot be limited to one object by its name", "use these: {verbs}; for all objects, use rules"
)
DELETED_DEFINITION = Wording(
    "FT-TEN-406",
    "would delete every object of this kind, those of other tenants included",
    "leave it out for customresourcedefinitions",
)
WITHHELD_DEFINITION = Wording(
    "FT-TEN-407",
    "is the definition of a kind of {owner}, which is withheld on purpose",
    "name the definition of one of the tenant's own kinds, e.g. widgets.example.com",
)
NOT_AN_OBJECT_NAME = Wording(
    "FT-TEN-408",
    "is not the name of an object",
    "use lowercase letters, digits, '-' and '.'; there are no wildcards",
)
NO_EXCEPTION = Wording(
    "FT-TEN-409",
    "has no exceptions: it protects the platform or other tenants, or has a setting of its own for a tenant",
    "choose one of {policies} (docs/grants.md)",
)
NAMESPACED_OBJECT = Wording(
    "FT-TEN-410",
    "is a namespaced resource, so the grant would apply to objects of this name in every namespace",
    "grant it in rules",
)
GRANT_EXPIRES_SOON = Wording(
    "FT-TEN-411",
    "tenant {tenant}: grants[{index}] ({reason}) expires after {expires}, and no update passes then",
    "remove the grant, or have the platform team agree to a later date",
)
NOT_A_GROUP = Wording(
    "FT-TEN-412", "is not an API group", "write it like cert-manager.io; there are no wildcards and no versions"
)
DELEGATED_HOME = Wording(
    "FT-TEN-420",
    "is the tenant's home, where Flux applies everything as the tenant's own account",
    "delegate another namespace",
)
DELEGATION_NOT_GUARDED = Wording(
    "FT-TEN-421",
    "needs the policies {policies}, which are not enforced",
    "set policies.engine, and enforce them in policies.mode and policies.modes",
)
