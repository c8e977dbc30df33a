"""What is said about tenants and the `tenancy` section."""

from __future__ import annotations

from components.config.wordings import Wording

DEFAULT_ACCOUNT = Wording(
    "FT-CFG-400",
    "is the service account of every pod that names none, which would get the tenant's rights",
    "choose another name",
)
NOT_A_QUOTA_RESOURCE = Wording(
    "FT-CFG-401",
    "is not a resource that a quota can limit here",
    "write it like pods; Flux's own kinds are limited by fluxObjects",
)
PROTECTED_LABELS = Wording(
    "FT-CFG-402", "sets {keys}, which the platform sets itself", "remove them, or use keys such as podSecurity"
)
DUPLICATE_NAMESPACE = Wording("FT-CFG-403", "lists {names} twice", "keep one of them")
SHARED_CREDENTIAL = Wording(
    "FT-MSG-020",
    "would be in the namespace of each tenant, where the tenant can read it",
    "send messages to a receiver of the cluster that needs no credential, such as Alertmanager",
)
FOREIGN_TARGET_NAMESPACE = Wording("FT-CFG-404", "is not a namespace of the tenant", "choose one of {namespaces}")
NOT_A_KIND = Wording(
    "FT-CFG-405",
    "is not a kind that can be opened to tenants",
    "use one of {kinds}, or the resource of another controller, such as certificates.cert-manager.io",
)

# People (components/tenant/people.py).
DEVELOPERS_UNLIMITED = Wording(
    "FT-TEN-500",
    "need the policy flux-requests, without which they could change every field of Flux's objects, but {reason}",
    "enforce the policy, or make them viewers",
)

# Openings in the network (components/tenant/network.py).
OPENINGS_WITHOUT_DENIAL = Wording(
    "FT-TEN-520",
    "opens what is not closed: tenancy.networkPolicy is none",
    "set tenancy.networkPolicy to default-deny, or remove the openings",
)
OPENING_NOT_AGREED = Wording(
    "FT-TEN-521",
    "is a tenant that does not agree: {there} does not list {tenant}",
    "add it there, which is up to that tenant, or remove the opening here",
)
OPENING_OF_UNKNOWN_TENANT = Wording(
    "FT-TEN-522", "is not a tenant of this stack", "correct the name, or remove the opening"
)
OPENING_TO_ITSELF = Wording(
    "FT-TEN-523", "is the tenant itself, whose namespaces are always open to each other", "remove it"
)
OPENING_FOR_TENANTS_NAMESPACE = Wording(
    "FT-TEN-524", "is a namespace of the tenant {tenant}, which has to agree", "use network.tenants"
)
PROTECTED_NETWORK_OPENED = Wording(
    "FT-TEN-525",
    "includes {parts}, {what}",
    "add {parts} to except, or narrow cidr",
)

# Syncs.
NAME_OF_OWN_SYNC = Wording(
    "FT-TEN-310", "is the name of the tenant's own sync", "choose another name, or set the keys in sync"
)
UNKNOWN_DEPENDENCY = Wording(
    "FT-TEN-311", "is not one of the tenant's {kind}", "remove it, or name one of these: {known}"
)
CIRCLE = Wording("FT-TEN-312", "leads back to itself: {circle}", "remove one of these dependencies")
TOO_MANY_SYNCS = Wording(
    "FT-TEN-313",
    "has {count} entries, but the tenant may have {limit} Kustomizations besides its own sync",
    "remove entries, or raise tenancy.limits.kustomizations",
)

# Releases.
NOT_A_RELEASE_NAME = Wording(
    "FT-TEN-300", "is not the name of a Helm release", "use at most 53 lowercase letters, digits and '-'"
)
NOT_A_VALUES_PATH = Wording("FT-TEN-301", "is not the path of a value", "write it like redis.password or hosts[0].name")
NOT_A_VALUES_KEY = Wording(
    "FT-TEN-302", "is not a key of a ConfigMap or Secret", "use letters, digits, dashes, underscores and dots"
)
DRIFT_NOT_DETECTED = Wording(
    "FT-TEN-303", "is ignored, because drift is not detected", "set mode to enabled or warn, or remove it"
)
RETRIES_OF_ANOTHER_STRATEGY = Wording("FT-TEN-304", "is ignored by the strategy {strategy}", "remove it")
TOO_MANY_RELEASES = Wording(
    "FT-TEN-314",
    "has {count} entries, but the tenant may have {limit} HelmReleases",
    "remove entries, or raise tenancy.limits.helmReleases",
)
SOURCE_NEEDED = Wording(
    "FT-TEN-321", "is required, because the tenant has no `source` of its own", "choose one of {names}"
)
NO_CHART = Wording("FT-TEN-315", "is required, because a {kind} holds more than one chart")
CHART_OF_ITS_OWN = Wording("FT-TEN-316", "is ignored, because a {kind} is the chart itself", "remove it")
VERSION_IGNORED = Wording(
    "FT-TEN-317", "is ignored by Flux for charts from a {kind}", "remove it, and select the revision in the source"
)
CHART_OUTSIDE = Wording("FT-TEN-318", "leads out of its source", "name a chart inside of it")
CHART_NOT_VERIFIED = Wording(
    "FT-TEN-319",
    "has charts that Flux does not verify here, but charts of this tenant must be verified (policies.sources.verified, "
    "or policies.verified of {path})",
    "take the chart from an OCIRepository with verify, and list OCIRepository there, too",
)
SECRET_IN_SPEC = Wording(
    "FT-TEN-320",
    "is encrypted, but everybody who may read Flux's object sees it there",
    "use secretValues of the release, or a Secret with substituteFrom",
)
