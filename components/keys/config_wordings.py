"""What is said about keys, certificates and lines of `known_hosts`. Nothing of a private key is ever repeated."""

from __future__ import annotations

from components.config.wordings import Wording

_HOST_LINE = "write it like git.example.com ssh-ed25519 AAAA… or [git.example.com]:2222 ssh-ed25519 AAAA…"
_APP_KEY = "use the .pem file from GitHub unchanged"

# Lines of known_hosts.
SEVERAL_HOST_LINES = Wording("FT-CFG-100", "is more than one line", "add an entry for each line")
MARKED_HOST_LINE = Wording(
    "FT-CFG-101", "has the marker {marker}, which is not supported", f"use the host's own key; {_HOST_LINE}"
)
HASHED_HOST = Wording("FT-CFG-102", "has a hashed host, so nobody can review whom it trusts", _HOST_LINE)
HOST_LINE_WITHOUT_HOST = Wording("FT-CFG-103", "does not begin with a host", _HOST_LINE)
NOT_A_HOST_LINE = Wording("FT-CFG-104", "is not a line of host, type and key", _HOST_LINE)
HOST_PATTERN = Wording("FT-CFG-105", "contains the pattern {address!r}", f"list single hosts; {_HOST_LINE}")
HOST_WITH_BARE_PORT = Wording("FT-CFG-106", "begins with {address!r}", "write a port like [{host}]:{port}")
NOT_A_HOST = Wording("FT-CFG-107", "begins with {address!r}, which is not a host", _HOST_LINE)
DSA_HOST_KEY = Wording(
    "FT-CFG-108", "is a DSA key, which is weak and which Flux rejects", "use another key of the host"
)
UNKNOWN_HOST_KEY_TYPE = Wording("FT-CFG-109", "has {type!r} as the type of the key", "use one of {types}")
DAMAGED_HOST_KEY = Wording("FT-CFG-110", "has an incomplete or damaged key", "copy the whole line")
SHORT_HOST_KEY = Wording("FT-CFG-111", "has an RSA key of only {bits} bits", "use another key of the host")

# Private keys of GitHub Apps.
APP_KEY_WITH_PASSPHRASE = Wording("FT-CFG-115", "is protected by a passphrase, which Flux cannot enter", _APP_KEY)
NOT_AN_APP_KEY = Wording("FT-CFG-116", "is not one RSA private key in PEM", _APP_KEY)
DAMAGED_APP_KEY = Wording("FT-CFG-117", "is an incomplete or damaged private key", _APP_KEY)
APP_KEY_NOT_RSA = Wording("FT-CFG-118", "is not an RSA key", _APP_KEY)
SHORT_APP_KEY = Wording("FT-CFG-119", "is an RSA key of only {bits} bits", _APP_KEY)

# Certificates.
PRIVATE_KEY_BESIDE_CERTIFICATE = Wording(
    "FT-CFG-122",
    "contains a private key, which was readable here",
    "replace the key and its certificates, and set only the certificate",
)
NOT_A_CERTIFICATE = Wording("FT-CFG-123", "is not a certificate in PEM", "it begins with -----BEGIN CERTIFICATE-----")
DAMAGED_CERTIFICATE = Wording("FT-CFG-124", "is an incomplete or damaged certificate", "copy the whole file")

# Public keys of cosign.
COSIGN_PRIVATE_KEY = Wording(
    "FT-CFG-126", "is a private key, which was readable here", "replace it, and set the public key, cosign.pub"
)
NOT_A_COSIGN_KEY = Wording("FT-CFG-127", "is not a public key in PEM", "use the content of cosign.pub")
DAMAGED_COSIGN_KEY = Wording("FT-CFG-128", "is an incomplete or damaged public key", "use the content of cosign.pub")
