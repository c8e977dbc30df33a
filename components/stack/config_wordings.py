"""What is said about the files of a stack: their keys, secrets in them, and values that do not go together."""

from __future__ import annotations

from components.config.wordings import Wording

# What pydantic finds (components/stack/messages.py).
UNKNOWN_KEY = Wording("FT-CFG-600", "is an unknown key")
UNKNOWN_KEY_AMONG = Wording("FT-CFG-601", "is an unknown key", "the keys here are {keys}")
UNKNOWN_KEY_LIKE = Wording("FT-CFG-602", "is an unknown key", "did you mean {suggestion!r}?")
UNKNOWN_KEY_BELOW = Wording("FT-CFG-603", "is an unknown key here", "did you mean {path}?")
KEY_OF_ANOTHER_SECTION = Wording("FT-CFG-604", "is an unknown key here", "it belongs to another section")
REMOVED_KEY = Wording("FT-CFG-616", "is an unknown key: {reason}", "remove it")
MISSING = Wording("FT-CFG-605", "is required and missing")
NOT_ONE_OF = Wording("FT-CFG-606", "{given} is not one of {choices}")
NOT_ONE_OF_LIKE = Wording("FT-CFG-607", "{given} is not one of {choices}", "did you mean {suggestion!r}?")
NOT_ONE_OF_QUOTED = Wording("FT-CFG-608", "{given} is not one of {choices}", "put it in quotes")
WRONG_TYPE = Wording("FT-CFG-609", "must be {expected}, got {given}")
SECTION_EXPECTED = Wording("FT-CFG-610", "must be a mapping, got {given}", "write its keys below it: {keys}")
NO_VALUE = Wording("FT-CFG-611", "must be {expected}, got nothing", "set a value, or remove the key")
QUOTES_NEEDED = Wording("FT-CFG-612", "must be a string, got {given}", "put it in quotes")
LIST_NEEDED = Wording("FT-CFG-613", "must be a list, got {given}", "write [{given}]")
OUT_OF_BOUNDS = Wording("FT-CFG-614", "must be {bound}, got {given}")
OTHERWISE_INVALID = Wording("FT-CFG-615", "is not valid: {reason}")

# Files.
ANOTHER_FILE_READ = Wording(
    "FT-CFG-620",
    "differs from what Pulumi read, which was another file or an earlier state of this one",
    "run the command again, if necessary without `--config-file`",
)
NOT_A_STACK_NAME = Wording(
    "FT-CFG-630",
    "{name!r} is not a valid stack name",
    "use up to 100 letters, digits, `-`, `_` and single dots, with a letter or digit first",
)
PROJECT_NAME_MISSING = Wording("FT-CFG-621", "lacks the project's name", "write {project}:{key}")
DUPLICATE_SECTION = Wording("FT-CFG-622", "is also written as {other}", "keep only {project}:{section}")
KEY_OF_ANOTHER_PROJECT = Wording(
    "FT-CFG-623", "belongs to the project {namespace}, but this project is {project}", "write {project}:{name}"
)
CLUSTER_PROVIDER_UNUSED = Wording(
    "FT-CFG-624", "is not used: the cluster is configured by {project}:cluster", "remove it"
)
GITHUB_PROVIDER_UNUSED = Wording(
    "FT-CFG-625", "is not used: GitHub's credentials are configured by {project}:github", "remove it"
)
UNUSED_KEY_LIKE = Wording("FT-CFG-626", "is not used by the project {project}", "did you mean {suggestion}?")
UNUSED_KEY = Wording("FT-CFG-627", "is not used by the project {project}", "remove it")
TENANT_NOT_A_MAPPING = Wording("FT-CFG-628", "must be a mapping", "write {{}} to take the tenant's base unchanged")
TENANT_WITHOUT_BASE = Wording(
    "FT-CFG-629", "does not exist, but {stack_file} lists the tenant {tenant}", "create it with the tenant's base"
)

# Secrets.
SECRET_IN_PLAIN_TEXT = Wording(
    "FT-CFG-640",
    "is in plain text, and anyone who can read the file has it",
    "rotate it, and set the new value with `pulumi config set --secret --path {key}{option}`",
)
SECRET_OF_STACK_IN_PLAIN_TEXT = Wording(
    "FT-CFG-641",
    "is in plain text, and anyone who can read the file has it",
    "rotate it, and set the new value in {stack_file} with `pulumi config set --secret --path {key}{option}`",
)
SECRET_OF_UNKNOWN_ORIGIN = Wording(
    "FT-CFG-642",
    "comes from another file that Pulumi read, where it may not be encrypted",
    "set it here with `pulumi config set --secret --path {key}{option}`, and run the command without that file",
)
ENCRYPTED_IN_BASE = Wording(
    "FT-CFG-643",
    "is encrypted, but each stack has its own encryption key",
    "set it in {stack_file} with `pulumi config set --secret --path {key}{option}`",
)
UNREADABLE_OFFLINE = Wording(
    "FT-CFG-649",
    "is encrypted but is not a secret, so a review cannot read it",
    "if it is no secret, set it again as plain text; a secret stays encrypted and belongs to a key that takes one "
    "(docs/secrets.md): `pulumi config set --secret --path <key>` reads it from standard input",
)
SOPS_METADATA = Wording(
    "FT-CFG-644", "is the metadata of a file that SOPS encrypted", "use the file as it was before encryption"
)
SOPS_VALUE = Wording(
    "FT-CFG-645",
    "is encrypted by SOPS, which is not decrypted here",
    "write the value itself or, if it is a secret, set it with `pulumi config set --secret --path {key}`",
)

# Values of several sections.
NAMESPACE_TAKEN = Wording(
    "FT-CFG-650", "already belongs to the tenant {owner}", "choose another: a namespace belongs to one tenant"
)
PREVIEWER_OF_TENANT = Wording(
    "FT-CFG-679",
    "belongs to the tenant {tenant}, whose pods could then read the objects of all tenants",
    "use a service account in a namespace of the platform team",
)
ADMINISTRATOR_OF_TENANT = Wording(
    "FT-CFG-829",
    "belongs to the tenant {tenant}, whose pods could then add namespaces of the platform to any tenant",
    "use a service account in a namespace of the platform team",
)
DECRYPTION_ACCOUNT_TAKEN = Wording(
    "FT-CFG-651", "is the service account with which the sync of {tenant} decrypts", "choose another name"
)
SHARED_DEPLOY_KEY = Wording(
    "FT-CFG-652",
    "is the same key as {other} ({fingerprint})",
    "use a separate key per tenant and environment: `make deploy-key` creates one",
)
SHARED_DECRYPTION_KEY = Wording(
    "FT-CFG-653",
    "contains the key {public}, which {other} contains as well",
    "use separate keys per tenant and environment: `make sops-key` creates one",
)
TOKENS_NEEDED = Wording(
    "FT-CFG-654", "needs tokens of its service account, which Flux may not create", "set flux.workloadIdentity to true"
)
OBJECT_IDENTITY_NEEDED = Wording(
    "FT-CFG-655",
    "needs the feature gate {gate}, which the single-tenant profile does not set",
    "add `--feature-gates={gate}=true` to flux.extraArgs.{controller}",
)
KEY_SERVICE_HOSTS_UNKNOWN = Wording(
    "FT-CFG-656",
    "lists no key with a region, so the hosts of KMS and STS are unknown, and kustomize-controller may not connect to "
    "them",
    "add the keys, or list the hosts in flux.egress.hosts",
)
NO_VAULT = Wording("FT-CFG-657", "is vault, but flux.vaults lists no server", "add its address and login path there")
TWO_HOST_KEYS = Wording(
    "FT-CFG-658",
    "contains two {type} keys of {address}, of which Flux uses only the first",
    "keep the key that the host has",
)
UNKNOWN_HOST_KEY = Wording(
    "FT-CFG-659",
    "has a host whose key is unknown",
    "add the line `{address} <type> <key>` to git.knownHosts; compare the fingerprint of a key from `ssh-keyscan` "
    "with the one that the host publishes",
)
REPOSITORY_OF_ANOTHER_URL = Wording(
    "FT-CFG-660", "is not the repository in url, which is {in_url!r}", "correct one of them"
)
WEBHOOK_NEEDS_CONTROLLER = Wording(
    "FT-CFG-661", "needs {controller}, which flux.components does not list", "add it there"
)
WEBHOOK_NEEDS_URL = Wording(
    "FT-CFG-662", "needs an address of this cluster that GitHub can reach", "set flux.webhookUrl"
)

# Capsule.
CAPSULE_NOT_INSTALLED = Wording(
    "FT-CFG-803",
    "is capsule, but the stack has no section capsule",
    "add the section, which says what to install, or set the mode to namespaces",
)
CAPSULE_NOT_USED = Wording(
    "FT-CFG-804",
    "installs Capsule, but tenancy.mode is {mode}",
    "set tenancy.mode to capsule, or remove the section",
)

# Policies.
KYVERNO_NOT_INSTALLED = Wording(
    "FT-CFG-670",
    "is {engine}, but the stack has no section kyverno",
    "add the section, which says what to install, or set engine to native",
)
KYVERNO_NEEDED = Wording("FT-CFG-671", "needs Kyverno, but policies.engine is {engine}", "set policies.engine to both")
UNLIMITED_IMAGES = Wording(
    "FT-CFG-672",
    "lists images that policies.images.allowed does not limit, so they could be run unsigned under another name",
    "list there what tenants may run",
)
SOURCE_NOT_COMPARABLE = Wording(
    "FT-CFG-673",
    "cannot be compared with the allowed sources",
    "write it without `..` and without percent-encoding except %20",
)
SOURCE_WITHOUT_TLS = Wording("FT-CFG-674", "is fetched without TLS", "use https:// or ssh://")
KIND_NOT_OPEN = Wording(
    "FT-CFG-680",
    "{objects}: not open to tenant {tenant}, and {refused} at the next change",
    "to keep it open, add {entry} to policies.kinds of the tenant, or to tenancy.kinds",
)
SOURCE_NOT_LISTED = Wording(
    "FT-CFG-681",
    "{objects}: not an allowed source for tenant {tenant}, and {refused} at the next change",
    "to allow it, add {entry} to policies.sources of the tenant, or to policies.sources.allowed",
)
PROVIDER_TYPE_NOT_LISTED = Wording(
    "FT-CFG-682",
    "{objects}: not of an allowed type for tenant {tenant}, and {refused} at the next change",
    "to allow it, add {entry} to policies.notifications.types",
)
HOST_NOT_LISTED = Wording(
    "FT-CFG-683",
    "{objects}: contacts {entry}, not an allowed host for tenant {tenant}, and is {refused} at the next change",
    "to allow it, add {entry} to policies.notifications of the tenant, or to policies.notifications.hosts",
)
PROVIDER_SECRET_NAME = Wording(
    "FT-CFG-684",
    "{objects}: its Secret has a name that tenant {tenant} may not use, and it is {refused} at the next change",
    "to keep it, have the tenant name the Secret {entry} or {entry}-<suffix>",
)
FIELD_NOT_LISTED = Wording(
    "FT-CFG-685",
    "{objects}: has {entry}, which tenant {tenant} may not set, and is {refused} at the next change",
    "have the tenant remove it",
)
SOURCE_NOT_VERIFIED = Wording(
    "FT-CFG-676",
    "has no verify, but a {kind} of this tenant must be verified (policies.sources.verified, or policies.verified of "
    "{path})",
    "add the signers' keys to verify.keys",
)
INTERVAL_TOO_SHORT = Wording(
    "FT-CFG-677", "is shorter than policies.minimumInterval ({minimum})", "set {minimum} or more"
)
TIMEOUT_TOO_LONG = Wording("FT-CFG-678", "is longer than policies.maximumTimeout ({maximum})", "set {maximum} or less")

# Decisions of reviewers.
WAIVER_EXPIRED = Wording(
    "FT-CFG-691",
    "has passed (today is {today}), so the waiver does not hold any more",
    "comply with the rule and remove the waiver, or have the reviewers agree to a later date",
)
WAIVER_TOO_LONG = Wording(
    "FT-CFG-692",
    "is more than a year ahead (today is {today})",
    "set a date within a year; the waiver can be renewed then",
)
NOT_WAIVABLE = Wording("FT-CFG-693", "is a rule that cannot be waived", "comply with it; these can be: {waivable}")

# Notifications.
NOTIFICATIONS_NEED_CONTROLLER = Wording(
    "FT-MSG-060", "need {controller}, which flux.components does not list", "add it there"
)
PROVIDERS_WITHOUT_LIST = Wording(
    "FT-MSG-063",
    "opens Providers to tenant {tenant}, but nothing says what they may contact",
    "list it in {keys}",
)
NOTIFICATION_OF_PLATFORM = Wording(
    "FT-MSG-062", "is also the name of one in tenancy.notifications", "choose another name"
)
