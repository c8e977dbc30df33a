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
FOREIGN_TARGET_NAMESPACE = Wording("FT-CFG-404", "is not a namespace of the tenant", "choose one of {namespaces}")
