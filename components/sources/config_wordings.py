"""What is said about sources of all kinds and the `shared` section."""

from __future__ import annotations

from components.config.wordings import Wording

URL_WITHOUT_HOST_OR_IN_CAPITALS = Wording(
    "FT-SRC-002", "has no host, or one with capital letters", "write it like {example}"
)
NOT_AN_ARTIFACT_URL = Wording(
    "FT-SRC-003", "is not the URL of an OCI repository", "write it like {example}; tag and digest belong in ref"
)
NOT_A_BUCKET_NAME = Wording(
    "FT-SRC-004", "is not the name of a bucket", "use 3 to 63 lowercase letters, digits, '-', '.' and '_'"
)
NOT_AN_ENDPOINT = Wording(
    "FT-SRC-005", "is not the endpoint of an object store", "write it like {example}, without a path"
)
NOT_AN_OCI_DIGEST = Wording("FT-SRC-006", "is not a digest", "write it like sha256: and 64 hexadecimal digits")
NOT_AN_OCI_TAG = Wording("FT-SRC-007", "is not a tag", "use at most 128 letters, digits, '_', '.' and '-', e.g. 6.5.1")
NOT_A_CLIENT_KEY = Wording(
    "FT-SRC-008", "is not an unencrypted private key in PEM", "copy all of it, with its BEGIN and END lines"
)
CLIENT_KEY_OF_ANOTHER_CERTIFICATE = Wording(
    "FT-SRC-009", "is not the private key of the certificate", "set both from the same pair"
)

ONE_REGISTRY_LOGIN = Wording("FT-SRC-020", "needs username and password, or dockerConfig alone")
NOT_A_DOCKER_CONFIG = Wording(
    "FT-SRC-021",
    "is not the content of a Docker config.json with auths",
    "write it with `docker login`, or set username and password",
)
NO_LOGIN_FOR_REGISTRY = Wording("FT-SRC-022", "has no credentials for {registry}", "add an entry for it below auths")
ONE_REFERENCE = Wording("FT-SRC-023", "sets {keys}, each of which names an artifact", "keep one of them")
FILTER_WITHOUT_RANGE = Wording("FT-SRC-024", "is used only with semver", "set semver, or remove it")
ONE_ARTIFACT_SIGNER = Wording("FT-SRC-025", "needs exactly one of keys and keyless")
NO_PROVIDER_ACCOUNT = Wording(
    "FT-SRC-026",
    "is {provider}, with which a source logs in as a service account of the tenant",
    "set serviceAccountName to one that is annotated with its identity in the cloud",
)
ACCOUNT_WITHOUT_PROVIDER = Wording(
    "FT-SRC-027", "is used only to log in to a cloud", "set provider to aws, azure or gcp, or remove it"
)
CREDENTIALS_WITH_PROVIDER = Wording(
    "FT-SRC-028", "does not go with serviceAccountName", "keep one of the ways to log in"
)
BUCKET_CREDENTIALS_OF_ANOTHER_PROVIDER = Wording(
    "FT-SRC-029", "does not fit provider {provider}, whose credentials are {expected}", "set these"
)
BUCKET_NEEDS_CREDENTIALS = Wording("FT-SRC-030", "needs credentials: {expected}", "set them")
OPTION_OF_HTTP = Wording("FT-SRC-032", "is not used with an oci:// URL", "remove it, or change the URL")
PROXY_PASSWORD_ALONE = Wording("FT-SRC-033", "needs both username and password, or neither")
HTTP_IS_INSECURE = Wording("FT-SRC-034", "is used only with an oci:// URL; an http:// URL says the same", "remove it")

# Sources of a tenant, and those that are shared with it.
SYNC_WITHOUT_SOURCE = Wording(
    "FT-SRC-040", "is required, since the tenant has no source of its own", "name one of {names}"
)
UNKNOWN_SOURCE = Wording("FT-SRC-041", "is not a source of the tenant", "name one of {names}")
SOURCE_NOT_APPLIED = Wording(
    "FT-SRC-042", "is a {kind}, which a sync cannot apply", "name a source of the kind {kinds}"
)
SOURCE_NAMED_AS_TENANT = Wording(
    "FT-SRC-043", "has the name of the tenant, which is kept for its own repository", "choose another name"
)
SHARED_WITH_UNKNOWN_TENANT = Wording("FT-SRC-044", "is not a tenant of this stack", "name one of {tenants}")
SHARED_NAME_TAKEN = Wording("FT-SRC-045", "is also the name of a source of the tenant {tenant}", "rename one of them")
SHARED_REGISTRATION = Wording(
    "FT-SRC-046", "cannot be set for a shared source, which has an object for each tenant", "remove it"
)
SHARED_TWICE = Wording("FT-SRC-047", "lists {tenant} twice", "keep one of them")
PROXY_REFUSED = Wording("FT-SRC-049", "is refused by the policy source-options", "remove it")
PROVIDER_REFUSED = Wording("FT-SRC-050", "is not in policies.sources.providers", "add it there, or use credentials")
REGION_REFUSED = Wording("FT-SRC-051", "is not in policies.sources.bucketRegions", "use one of {regions}")
TOKENS_REFUSED = Wording(
    "FT-SRC-052",
    "needs tokens of its service account, which Flux may not create",
    "set flux.workloadIdentity to true",
)
EXTERNAL_ARTIFACTS_OFF = Wording(
    "FT-SRC-053",
    "names an ExternalArtifact, which {controller} does not read",
    "add `--feature-gates={gate}=true` to flux.extraArgs.{controller}",
)
ADDRESS_WITHOUT_REPOSITORY = Wording(
    "FT-SRC-054", "is required, since the tenant has no Git repository", "set the URL of a repository"
)
