"""What is said about the `policies` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_FINALIZER = Wording("FT-CFG-500", "is not a finalizer with its domain", "write it like example.com/cleanup")
TOKEN_LIFETIME_TOO_SHORT = Wording(
    "FT-CFG-501", "is shorter than {shortest}, which Kubernetes requests for every pod", "set {shortest} or more"
)
MODE_IS_OFF = Wording("FT-CFG-502", "must not be off", "remove mode and set engine to none")
NOT_A_REGULAR_EXPRESSION = Wording("FT-CFG-503", "is not a regular expression ({reason})", "write it like {example}")
NOT_RE2 = Wording(
    "FT-CFG-504", "uses a lookaround or a backreference, which RE2 does not support", "write it like {example}"
)
ONE_SUBJECT = Wording("FT-CFG-505", "needs exactly one of subject and subjectRegExp")
ONE_SIGNER = Wording("FT-CFG-506", "needs exactly one of key and keyless")
KEYLESS_NEEDS_LOG = Wording(
    "FT-CFG-507",
    "must be true for keyless signatures: their certificates expire within minutes, and only the log proves when they "
    "were used",
)
