"""What is said about Git sources and the `git` and `github` sections."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_GIT_REFERENCE = Wording("FT-CFG-250", "is not a branch or tag name that Git accepts", "write it like main")
NOT_A_COMMIT = Wording("FT-CFG-251", "is not a full commit id", "write 40 lowercase hexadecimal digits")
NOT_A_SIGNER_NAME = Wording("FT-CFG-252", "is not a name of letters, digits, '-', '_' and '.'")
NOT_A_GITHUB_NAME = Wording(
    "FT-CFG-253",
    "is not a GitHub organization or user",
    "use at most 39 letters, digits, '-' and '_', e.g. my-org",
)
NOT_A_GITHUB_REPOSITORY = Wording("FT-CFG-254", "is not a GitHub repository", "write it like my-org/my-repository")
URL_WITHOUT_REPOSITORY = Wording("FT-CFG-255", "has no host or no repository", "write it like {example}")
URL_WITH_CAPITAL_HOST = Wording("FT-CFG-256", "has a host with capital letters", "write it like {example}")

ONE_HTTPS_SECRET = Wording("FT-CFG-260", "needs exactly one of password (which may be a token) and bearerToken")
USERNAME_WITH_BEARER_TOKEN = Wording("FT-CFG-261", "sets username with bearerToken", "set password instead")
ONE_INSTALLATION = Wording("FT-CFG-262", "needs exactly one of installationId and installationOwner")
SEVERAL_REFERENCES = Wording("FT-CFG-264", "sets {keys}, of which Flux can follow only one", "keep one of them")
SEVERAL_CREDENTIALS = Wording("FT-CFG-265", "sets {keys}, each of which is a login of its own", "keep one of them")
SSH_NEEDS_DEPLOY_KEY = Wording(
    "FT-CFG-266",
    "begins with ssh://, which needs a deployKey",
    "create one with `make deploy-key`; for one of `sources` or `shared`, store a private key at its deployKey with "
    "`pulumi config set --secret --path`",
)
SSH_TAKES_DEPLOY_KEY_ALONE = Wording(
    "FT-CFG-267", "begins with ssh://, which does not go with {credentials}", "use an https:// URL, or a deployKey"
)
CREDENTIALS_OF_ANOTHER_SCHEME = Wording(
    "FT-CFG-268", "begins with {scheme}://, but {credentials} needs {expected}", "change the URL or the credentials"
)
AUTHORITY_WITHOUT_HTTPS = Wording("FT-CFG-269", "is used only with an https:// URL", "remove it, or change the URL")
NO_TAG_TO_VERIFY = Wording(
    "FT-CFG-270", "requires a signed tag, but the source follows none", "set tag or semver, or set mode to HEAD"
)
WEBHOOK_IS_NOT_GITHUBS = Wording("FT-CFG-271", "must be github where github.repository is set")
NOTHING_TO_REGISTER = Wording(
    "FT-CFG-272", "has nothing to register: the source has neither a deployKey nor a webhook", "remove it, or add one"
)
SEVERAL_IDENTITIES = Wording("FT-CFG-273", "sets token and app", "keep one of them")
APP_NEEDS_INSTALLATION_ID = Wording("FT-CFG-274", "is required here and missing")
DUPLICATE_OWNER = Wording("FT-CFG-275", "lists {first} and {second}, which are the same to GitHub", "keep one of them")
