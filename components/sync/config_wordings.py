"""What is said about decryption and notifications, of the platform and of tenants."""

from __future__ import annotations

from components.config.wordings import Wording

NO_DECRYPTION_KEY = Wording("FT-CFG-200", "contains no key", "create one with `make sops-key`, or remove the section")
FOREIGN_PUBLIC_KEYS = Wording(
    "FT-CFG-201",
    "contains {public}, for which there is no private key here",
    "set it to {expected}",
)
MISSING_PUBLIC_KEYS = Wording(
    "FT-CFG-202", "does not list the public keys in the order of the private ones", "set it to {expected}"
)
PROVIDER_WITHOUT_SETTING = Wording("FT-CFG-203", "is not a setting of {provider}", "remove it")
PROVIDER_NEEDS_SETTING = Wording("FT-CFG-204", "is required for {provider} and missing")
PROVIDER_SETTING_REFUSED = Wording("FT-CFG-205", "is rejected by Flux", "it must match {pattern}")

# Notifications.
UNKNOWN_PROVIDER_TYPE = Wording("FT-MSG-001", "is not a type of receiver", "use one of {types}")
ADDRESS_NOT_A_URL = Wording("FT-MSG-002", "is not a URL with a host", "write it like {example}")
TOO_LONG_ADDRESS = Wording("FT-MSG-003", "is longer than the {longest} characters that Flux takes")
TWO_ADDRESSES = Wording("FT-MSG-004", "is set in addition to address", "keep one of them")
NO_ADDRESS = Wording(
    "FT-MSG-005",
    "has no address, which {type} needs",
    "set secretAddress with `pulumi config set --secret`, or address if the URL is no credential",
)
ADDRESS_IS_CREDENTIAL = Wording(
    "FT-MSG-006",
    "is a credential for {type}: whoever knows it can post messages",
    "set secretAddress with `pulumi config set --secret` instead",
)
ADDRESS_WITHOUT_USE = Wording("FT-MSG-007", "has no effect: {type} posts to a fixed host", "remove it")
TOKEN_NEEDED = Wording("FT-MSG-008", "has no token, which {type} needs", "set token with `pulumi config set --secret`")
CHANNEL_NEEDED = Wording("FT-MSG-009", "has no channel, which {type} needs", "set channel")
PASSWORD_NEEDS_USERNAME = Wording("FT-MSG-010", "needs a username", "set username")
AUTHORITY_WITHOUT_USE = Wording("FT-MSG-011", "has no effect: Flux does not read it for {type}", "remove it")
# What a Kustomization builds and checks.
NOT_A_VARIABLE = Wording(
    "FT-SYN-300", "is not the name of a variable", "use letters, digits and underscores, and begin with no digit"
)
NOT_A_JSON_POINTER = Wording("FT-SYN-301", "is not a JSON pointer", "write it like /spec/replicas")
NOT_A_DIGEST = Wording("FT-SYN-302", "is not the digest of an image", "write it like sha256:<64 hexadecimal digits>")
NOT_PART_OF_A_NAME = Wording(
    "FT-SYN-303", "is not part of a name", "use lowercase letters, digits, dashes and dots, 200 at most"
)
ABSOLUTE_COMPONENT = Wording(
    "FT-SYN-304", "is not relative to path", "write it like ../components/tls, inside the same source"
)
ONE_PATCH = Wording("FT-SYN-305", "needs exactly one of merge and operations")
PATCH_WITHOUT_TARGET = Wording(
    "FT-SYN-306",
    "does not say which objects it changes",
    "set target, or in merge apiVersion, kind and metadata.name of one object",
)
OPERATION_LACKS = Wording("FT-SYN-307", "is required for the operation {op} and missing")
OPERATION_IGNORES = Wording("FT-SYN-308", "is ignored by the operation {op}", "remove it")
NOTHING_REPLACED = Wording("FT-SYN-309", "replaces nothing", "set newName, newTag or digest")
TAG_BESIDE_DIGEST = Wording("FT-SYN-310", "is ignored by Flux if there is a digest", "keep one of them")
HEALTH_CHECKS_IGNORED = Wording(
    "FT-SYN-311",
    "is ignored by Flux while wait is true, since it then checks everything that it applies",
    "remove it, or set wait to false",
)
EXPRESSIONS_IGNORED = Wording(
    "FT-SYN-312",
    "is ignored by Flux without wait and without healthChecks",
    "set wait to true, or list the objects in healthChecks",
)
NOTHING_SUBSTITUTED = Wording(
    "FT-SYN-313",
    "names no variables, so Flux substitutes nothing",
    "set substitute or substituteFrom, or substituteStrategy to Always",
)
NOT_CEL = Wording("FT-SYN-314", "is not a CEL expression ({reason})", "write it like status.phase == 'Running'")
