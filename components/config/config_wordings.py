"""What is said about files, about values of types that several sections share, and about pinned downloads."""

from __future__ import annotations

from components.config.wordings import Wording

_LIKE_A_DURATION = "write it like 30s, 5m or 1h30m"

RESERVED_NAME = Wording("FT-CFG-001", "is reserved for the cluster's own components", "choose another name")
NOT_A_DNS_LABEL = Wording(
    "FT-CFG-002", "is not a DNS label", "use at most 63 lowercase letters, digits and '-', e.g. dev-team"
)
NOT_A_DURATION = Wording("FT-CFG-003", "is not a duration", _LIKE_A_DURATION)
DURATION_WITHOUT_UNIT = Wording("FT-CFG-004", "has no unit", "write it like {number}s or {number}m")
DURATION_OF_ZERO = Wording("FT-CFG-005", "must be longer than zero", _LIKE_A_DURATION)
TIMEOUT_IN_HOURS = Wording(
    "FT-SRC-001",
    "is not a duration in minutes or seconds, the units of a source's timeout",
    "write it like 60s or 90m",
)
NOT_A_QUANTITY = Wording("FT-CFG-006", "is not a Kubernetes quantity", "write it like 4, 500m or 8Gi")
NOT_A_NETWORK = Wording("FT-CFG-007", "is not a network in CIDR notation", "write it like 192.0.2.0/24")
LAST_PORT_FIRST = Wording("FT-TEN-510", "is less than port, which is {port}", "write the first port in port")
EXCEPTION_OUTSIDE = Wording("FT-TEN-511", "is not a part of {cidr}", "list only parts of cidr, or correct cidr")
PATH_OUTSIDE_REPOSITORY = Wording("FT-CFG-008", "must stay inside the repository", "write it like ./staging")
NOT_A_SHA256 = Wording("FT-CFG-009", "is not a SHA-256 digest", "write 64 lowercase hexadecimal digits")
NOT_A_REGULAR_EXPRESSION = Wording("FT-CFG-503", "is not a regular expression ({reason})", "write it like {example}")
NOT_RE2 = Wording(
    "FT-CFG-504", "uses a lookaround or a backreference, which RE2 does not support", "write it like {example}"
)
EMPTY = Wording("FT-CFG-010", "must not be empty")
SECRET_NOT_A_STRING = Wording("FT-CFG-011", "must be a string")
SECRET_WITHOUT_QUOTES = Wording("FT-CFG-012", "must be a string", "put it in quotes")

MALFORMED_URL = Wording("FT-CFG-013", "is not a well-formed URL", "write it like {example}")
URL_WITH_CREDENTIALS = Wording(
    "FT-CFG-014",
    "contains credentials",
    "remove and rotate them: in a URL, they are readable in the cluster and in Pulumi's state",
)
SHORT_SSH_URL = Wording("FT-CFG-015", "is SSH's short form, which Flux does not support", "write ssh://{host}/{path}")
UNKNOWN_SCHEME = Wording(
    "FT-CFG-016", "has the unsupported scheme {scheme}://", "begin it with {schemes}, like {example}"
)
NO_SCHEME = Wording("FT-CFG-017", "must begin with {schemes}", "write it like {example}")
URL_WITHOUT_HOST = Wording("FT-CFG-018", "has no host", "write it like {example}")
NOT_A_DATE = Wording("FT-CFG-690", "is not a date", "write it like 2027-01-31")

UNREADABLE_FILE = Wording("FT-CFG-020", "cannot be read: {reason}")
INVALID_YAML = Wording("FT-CFG-021", "is not valid YAML: {reason}")
DUPLICATE_YAML_KEY = Wording("FT-CFG-022", "line {line}: duplicate key {key!r}", "keep one of them")
YAML_KEY_NOT_A_STRING = Wording(
    "FT-CFG-023", "line {line}: a key must be a string", "put quotes around one that begins with {{ or ["
)
FILE_NOT_A_MAPPING = Wording("FT-CFG-024", "must be a mapping of keys to values")

WRONG_DIGEST = Wording(
    "FT-CFG-030",
    "{source} has the SHA-256 digest {digest}, expected {expected}",
    "compare it with the release's checksums, and correct {section}.sha256 only if you trust this file",
)
UNREADABLE_BUNDLE = Wording("FT-CFG-031", "{bundle} cannot be read: {reason}")
FETCH_FAILED = Wording(
    "FT-CFG-032",
    "{url} cannot be fetched: {reason}",
    "check {section}.version and the network, or name a local file in {section}.{key}.bundle",
)
