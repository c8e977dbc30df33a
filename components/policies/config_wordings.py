"""What is said about the `policies` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_FINALIZER = Wording("FT-CFG-500", "is not a finalizer with its domain", "write it like example.com/cleanup")
NOT_AN_ANNOTATION = Wording(
    "FT-CFG-509", "is not an annotation with its domain", "write it like example.com/name, or example.com/* for all"
)
TOKEN_LIFETIME_TOO_SHORT = Wording(
    "FT-CFG-501", "is shorter than {shortest}, which Kubernetes requests for every pod", "set {shortest} or more"
)
MODE_IS_OFF = Wording("FT-CFG-502", "must not be off", "remove mode and set engine to none")
ONE_SIGNER = Wording("FT-CFG-506", "needs exactly one of key and keyless")
KEYLESS_NEEDS_LOG = Wording(
    "FT-CFG-507",
    "must be true for keyless signatures: their certificates expire within minutes, and only the log proves when they "
    "were used",
)

# Hosts of notifications.
HOST_NOT_COMPARABLE = Wording(
    "FT-MSG-040",
    "is not a single URL that can be compared with the allowed hosts",
    "write it like https://hooks.example.com/path",
)
MESSAGES_WITHOUT_TLS = Wording("FT-MSG-041", "leads to {host} without TLS", "use https://")
