"""What is said about keys, certificates and lines of `known_hosts`. No message repeats anything of a private key."""

from __future__ import annotations

from components.config.wordings import Wording

_HOST_LINE = "write it like git.example.com ssh-ed25519 AAAA… or [git.example.com]:2222 ssh-ed25519 AAAA…"
_APP_KEY = "use the .pem file from GitHub unchanged"
_WHOLE_SSH_KEY = "set the whole file with its line breaks: `pulumi config set --secret --path … < file`"
_STRONG_SSH_KEY = "use an ed25519 key, an ECDSA P-384 key, or an RSA key of at least 3072 bits"
_NEW_AGE_IDENTITY = "create one with `make sops-key`; identities begin with AGE-SECRET-KEY-1"
_EXPORTED_PUBLIC_KEY = "set the output of `gpg --export --armor <key>`"
_EXPORTED_PRIVATE_KEY = (
    "set the output of `gpg --export-secret-keys --armor <key>`, or create a key with `make sops-key OPENPGP=1`"
)

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

# Private SSH keys.
EMPTY_SSH_KEY = Wording("FT-CFG-130", "is empty", "create a key with `make deploy-key`")
PUTTY_KEY = Wording(
    "FT-CFG-131",
    "is in PuTTY's format, which Flux does not support",
    "export it with `puttygen <file> -O private-openssh-new`",
)
OPENPGP_KEY_AS_SSH_KEY = Wording("FT-CFG-132", "is an OpenPGP key", "use a private SSH key")
CERTIFICATE_IN_SSH_KEY = Wording("FT-CFG-133", "contains a certificate", "set only the private SSH key")
PUBLIC_KEY_IN_SSH_KEY = Wording(
    "FT-CFG-134",
    "is or contains a public key",
    "set only the private key, from which the public one is derived",
)
NOT_AN_SSH_KEY = Wording(
    "FT-CFG-135", "is not a private key: it has no line -----BEGIN … PRIVATE KEY-----", _WHOLE_SSH_KEY
)
SEVERAL_BLOCKS_IN_SSH_KEY = Wording("FT-CFG-136", "contains {count} blocks ({labels})", "set only the private SSH key")
UNKNOWN_SSH_KEY_FORMAT = Wording(
    "FT-CFG-137", "is in the format {label}, which Flux does not support", "convert it to OpenSSH's format or PKCS#8"
)
DAMAGED_SSH_KEY = Wording(
    "FT-CFG-138", "is an incomplete or damaged private key, or has other text around it", _WHOLE_SSH_KEY
)
SSH_KEY_WITH_PASSPHRASE = Wording(
    "FT-CFG-139",
    "is protected by a passphrase, which Flux cannot enter",
    "create a separate key with `make deploy-key`, which stores it encrypted",
)
DSA_SSH_KEY = Wording("FT-CFG-140", "is a DSA key, which Git hosts no longer accept", _STRONG_SSH_KEY)
SHORT_SSH_KEY = Wording("FT-CFG-141", "is an RSA key of only {bits} bits", _STRONG_SSH_KEY)
REFUSED_SSH_CURVE = Wording("FT-CFG-142", "is an ECDSA key on the curve {curve}", _STRONG_SSH_KEY)
UNKNOWN_SSH_KEY_TYPE = Wording("FT-CFG-143", "is of a type that Git hosts do not accept", _STRONG_SSH_KEY)
UNREADABLE_SSH_KEY_TYPE = Wording(
    "FT-CFG-144", "is damaged, or of a type that Git hosts do not accept", f"copy the whole file, or {_STRONG_SSH_KEY}"
)

# Public keys of those who sign commits and tags.
NOT_A_SIGNING_KEY = Wording(
    "FT-CFG-145",
    "is neither an OpenPGP public key block nor an SSH public key",
    f"{_EXPORTED_PUBLIC_KEY}, or the line of the .pub file",
)

# Keys of age.
NO_AGE_IDENTITY = Wording("FT-CFG-700", "contains no age identity", _NEW_AGE_IDENTITY)
DUPLICATE_AGE_IDENTITY = Wording("FT-CFG-701", "contains the identity of {recipient} twice", "keep one of them")
AGE_RECIPIENT_AS_IDENTITY = Wording(
    "FT-CFG-702",
    "line {line} is a recipient, which is public and cannot decrypt",
    "set its identity, which begins with AGE-SECRET-KEY-1",
)
AGE_PLUGIN_IDENTITY = Wording(
    "FT-CFG-703",
    "line {line} is an identity of an age plugin, and Flux supports no plugins",
    "create one with `make sops-key`",
)
AGE_IDENTITIES_WITH_PASSPHRASE = Wording(
    "FT-CFG-704",
    "line {line} begins a file that is protected by a passphrase, which Flux cannot enter",
    "set what is in it: `age --decrypt <file> | pulumi config set --secret --path <key>`",
)
NOT_AN_AGE_IDENTITY = Wording("FT-CFG-705", "line {line} is not an age identity", _NEW_AGE_IDENTITY)
DAMAGED_AGE_IDENTITY = Wording(
    "FT-CFG-706", "line {line} is an incomplete or damaged age identity", "copy the whole line"
)
AGE_IDENTITY_AS_RECIPIENT = Wording(
    "FT-CFG-707",
    "is an age identity, a private key, which was readable here",
    "withdraw it, and set the recipient (age1…) of another identity",
)
NOT_AN_AGE_RECIPIENT = Wording(
    "FT-CFG-708", "is not a complete age recipient", "copy the whole line, which begins with age1"
)

# Keys of OpenPGP.
OPENPGP_PRIVATE_KEY = Wording(
    "FT-CFG-720", "contains a private key, which was readable here", f"revoke it, and {_EXPORTED_PUBLIC_KEY}"
)
NOT_AN_OPENPGP_PUBLIC_KEY = Wording("FT-CFG-721", "is not one OpenPGP public key block", _EXPORTED_PUBLIC_KEY)
DAMAGED_OPENPGP_PUBLIC_KEY = Wording(
    "FT-CFG-722",
    "is an incomplete or damaged OpenPGP public key, or has other text around it",
    _EXPORTED_PUBLIC_KEY,
)
OPENPGP_PUBLIC_KEY = Wording("FT-CFG-723", "is a public key, which cannot decrypt", _EXPORTED_PRIVATE_KEY)
NOT_AN_OPENPGP_PRIVATE_KEY = Wording("FT-CFG-724", "is not an armored OpenPGP private key", _EXPORTED_PRIVATE_KEY)
DAMAGED_OPENPGP_PRIVATE_KEY = Wording(
    "FT-CFG-725",
    "is an incomplete or damaged OpenPGP private key, has other text around it, or has several keys in one block",
    "export each key separately, and copy all of it",
)
DUPLICATE_OPENPGP_KEY = Wording("FT-CFG-726", "contains the key {fingerprint} twice", "keep one of them")
OPENPGP_KEY_WITH_PASSPHRASE = Wording(
    "FT-CFG-727",
    "is protected by a passphrase, which Flux cannot enter",
    "create a separate key with `make sops-key OPENPGP=1`, which stores it encrypted",
)
NO_OPENPGP_SUBKEY = Wording(
    "FT-CFG-728",
    "has no usable subkey for encryption",
    "add one with `gpg --quick-add-key <fingerprint> cv25519 encr` and export the key again, or create one with "
    "`make sops-key OPENPGP=1`",
)
PRIVATE_KEY_AS_FINGERPRINT = Wording(
    "FT-CFG-729", "is a private key, which was readable here", "revoke it, and set only the fingerprint of another key"
)
NOT_A_FINGERPRINT = Wording(
    "FT-CFG-730", "is not the fingerprint of an OpenPGP key", "write all 40 or 64 hexadecimal digits"
)

ONE_SUBJECT = Wording("FT-CFG-505", "needs exactly one of subject and subjectRegExp")
