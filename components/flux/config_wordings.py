"""What is said about the `flux` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_FLUX_VERSION = Wording("FT-CFG-300", "is not a Flux release", "write it like 2.9.5")
UNSUPPORTED_FLUX_VERSION = Wording("FT-CFG-301", "is not a supported version of Flux", "use {supported}")
NOT_A_CONTROLLER_ARGUMENT = Wording(
    "FT-CFG-302", "is not a controller argument with its value", "write it like --concurrent=8"
)
NOT_AN_EGRESS_HOST = Wording(
    "FT-CFG-303",
    "is not a host as in a URL, a domain or a network",
    "write it like files.example.com, .example.com or 192.0.2.0/24",
)
EGRESS_OPENS_ARTIFACTS = Wording(
    "FT-CFG-304", "would open the artifacts of all tenants to each of them", "list single hosts outside of Flux"
)
ONE_MANIFEST = Wording("FT-CFG-305", "sets url and bundle", "keep one of them")
ACCOUNT_OF_FLUX = Wording(
    "FT-CFG-306",
    "is a service account of Flux itself, with whose rights everything in flux-system without an account of its own "
    "would be applied",
    "choose another name",
)
MISSING_CONTROLLERS = Wording("FT-CFG-307", "must include {missing}, without which no tenant is reconciled")
DUPLICATE_CONTROLLER = Wording("FT-CFG-308", "lists a controller twice", "keep one of them")
CONTROLLER_NOT_INSTALLED = Wording(
    "FT-CFG-309", "lists {controllers}, which flux.components does not", "add it there, or remove it here"
)
FORBIDDEN_FLAG = Wording(
    "FT-CFG-310", "sets --{flag}, which the multi-tenant profile does not allow: {reason}", "remove it"
)
FLAG_OF_PROFILE = Wording(
    "FT-CFG-311",
    "sets --{flag}, which the multi-tenant profile sets itself",
    "remove it",
)
SECRETS_CACHE_NEEDS_RIGHTS = Wording(
    "FT-CFG-312",
    "enables the feature gate {gate}, with which {controller} watches all Secrets of the cluster; "
    "controllerRights: impersonate does not allow that",
    "remove the gate",
)
SECRETS_OF_THE_CLUSTER = Wording(
    "FT-CFG-313",
    "belongs to the cluster's own components, whose Secrets Flux could then read",
    "run the account and its Flux objects in a namespace of their own",
)
NOTIFICATIONS_WITHOUT_SYNC = Wording(
    "FT-MSG-061",
    "are about flux.sync, which is not set",
    "set it, or use tenancy.notifications for those about tenants",
)
API_SERVER_NOT_ALLOWED = Wording(
    "FT-TEN-530",
    "would keep controllers from the API server",
    "list its endpoints in flux.egress.apiServer; `kubectl get endpointslices kubernetes` shows them",
)
