"""What is said about the configuration of tenants of Capsule."""

from __future__ import annotations

from components.config.wordings import Wording

LIMITS_WITHOUT_CAPSULE = Wording(
    "FT-CFG-820",
    "limits what only Capsule lets tenants do, but tenancy.mode is namespaces",
    "set tenancy.mode to capsule, or remove it",
)
TOO_MANY_LISTED = Wording(
    "FT-CFG-821",
    "lists {count} namespaces besides the home, but the tenant may have only {most}",
    "raise capsule.namespaces, or remove namespaces",
)
NAME_OF_MADE_NAMESPACES = Wording(
    "FT-CFG-822",
    "begins with {prefix}, as the namespaces do that tenant {tenant} makes itself",
    "choose another name, or another name for that tenant",
)
TENANTS_OF_ONE_PREFIX = Wording(
    "FT-CFG-828",
    "begins with {prefix}, as the namespaces do that tenant {tenant} makes itself, so that each could take the other's",
    "choose another name for one of them",
)
CAPSULES_OWN_KEYS = Wording("FT-CFG-823", "sets {keys}, which Capsule sets itself", "remove them")
WAYS_TO_PROXY = Wording("FT-CFG-825", "needs exactly one of address, secret and addon")
PROXY_WITHOUT_TLS = Wording("FT-CFG-826", "is not encrypted, and Flux sends tokens to it", "use https://")
PROXY_NEEDS_TOKENS = Wording(
    "FT-CFG-827",
    "makes Flux log in with tokens of the tenants' service accounts, which it may not create",
    "set flux.workloadIdentity to true",
)
ONBOARDING_WITH_CAPSULE = Wording(
    "FT-CFG-824",
    "would fill the namespaces that tenants make with Capsule a second time",
    "remove it, or set tenancy.mode to namespaces",
)
