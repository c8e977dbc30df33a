"""What the commands say when they cannot go on: each message on its own line, its remedy on the next."""

from __future__ import annotations

from components.config.wordings import Wording

INVALID = Wording("FT-OPS-001", "{problems}", "correct it and run the command again")
UNKNOWN_STACK = Wording("FT-OPS-002", "stack {stack} has no {file}", "use one of these: STACK={stacks}")
NO_STACKS = Wording("FT-OPS-003", "stack {stack} has no {file}", "describe the stack in {file}")
UNKNOWN_TENANT = Wording(
    "FT-OPS-004", "{file} lists no tenant {tenant}; it has {tenants}", "add `{tenant}: {{}}` below {project}:tenants"
)
NO_PLATFORM_SYNC = Wording("FT-OPS-005", "{file} has no flux.sync", "set flux.sync.source.url first")
NO_OWNER = Wording("FT-OPS-006", "no tenant or platform is named", "{usage}")
TWO_OWNERS = Wording("FT-OPS-007", "both a tenant and the platform are named", "{usage}")
NO_CHECKOUT = Wording(
    "FT-OPS-008", "folder {folder} does not exist", "set REPO to the path of a checkout: REPO=../apps"
)
PULUMI_NOT_FOUND = Wording(
    "FT-OPS-010", "pulumi is not on PATH", "install the Pulumi CLI, or run `make up` first if the stack is in the lab"
)
UNKNOWN_TO_PULUMI = Wording(
    "FT-OPS-011", "Pulumi has no stack {stack}", "list them with `pulumi stack ls`, or run `pulumi stack init {stack}`"
)
WRONG_PASSPHRASE = Wording(
    "FT-OPS-012",
    "stack {stack} is encrypted with another passphrase, or no passphrase is set",
    "set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to the path of a file that contains it",
)
NOT_LOGGED_IN = Wording("FT-OPS-013", "Pulumi is not logged in to a backend", "run `pulumi login`")
PULUMI_FAILED = Wording(
    "FT-OPS-014", "Pulumi failed: {reason}", "run `pulumi config --stack {stack}` in the project's folder"
)
NO_SSH_URL = Wording(
    "FT-OPS-020", "{path}.url: {reason}", "set an ssh URL first, like ssh://git@git.example.com/team/repository"
)
NO_POST_QUANTUM_OPENPGP = Wording(
    "FT-OPS-030", "OpenPGP keys are not post-quantum", "remove OPENPGP or POST_QUANTUM from the command"
)
UNKNOWN_KEY = Wording("FT-OPS-031", "{owner} has no key {key} in {file}", "use one of these: {keys}")
NO_KEYS = Wording("FT-OPS-032", "{owner} has no key {key} in {file}", "{file} has no {kind} of {owner} to withdraw")
LAST_KEY = Wording(
    "FT-OPS-033",
    "{key} is the only {kind} of {owner} in {file}",
    "create another first with `make sops-key {option} STACK={stack}`, or remove {path}",
)
NOTHING_ELSE_DECRYPTS = Wording(
    "FT-OPS-034",
    "no other key decrypts {files}",
    "encrypt for {key} first: `sops updatekeys --yes {file}` with the .sops.yaml of `make -s sops-config {option}`",
)
UNREADABLE_KEY = Wording(
    "FT-OPS-035", "{file}: {path}: {reason}", "remove it or set the right key, and run the command again"
)
NO_RECIPIENTS = Wording(
    "FT-OPS-036", "no stack has decryption keys for {owner}", "create one with `make sops-key {option} STACK=…`"
)
NO_PUBLIC_KEYS = Wording(
    "FT-OPS-037", "{file} has {secret}, but not {public}", "add the public keys, which `pulumi stack output` shows"
)
SHARED_KEY = Wording(
    "FT-OPS-038",
    "{first} and {second} share the key {key}",
    "create a key for each stack with `make sops-key`, then withdraw this one from one of them",
)
WEBHOOK_DOWN = Wording(
    "FT-OPS-040",
    "webhook {webhook} does not answer for {object}: {reason}",
    "check that its pods run (for Kyverno: `kubectl get pods -n kyverno`), and run the command again",
)
DRY_RUN_FORBIDDEN = Wording(
    "FT-OPS-041", "this user may not dry-run {object}: {reason}", "use credentials with cluster-admin rights"
)
DRY_RUN_FAILED = Wording(
    "FT-OPS-042",
    "the API server answers {status} to a dry run of {object}: {reason}",
    "run the command again once the API server is healthy",
)
NO_POLICIES = Wording(
    "FT-OPS-043",
    "{file} has no policies: policies.engine is none",
    "choose an engine with `policies.mode: audit`, and run `pulumi up`",
)
POLICIES_MISSING = Wording(
    "FT-OPS-044",
    "the cluster lacks policies of {file} ({missing})",
    "run `pulumi up` first; for Kyverno's, check with `kubectl get pods -n kyverno` that it runs",
)
NOTHING_RECORDED = Wording(
    "FT-OPS-050", "the state of stack {stack} has no objects of a cluster", "apply the stack first: `pulumi up`"
)
ANOTHER_CLUSTER = Wording(
    "FT-OPS-051",
    "{file}: the kubeconfig leads to the cluster {found}, but the stack was applied to {known}",
    "correct cluster.kubeconfig or cluster.context",
)
NOT_REPAIRED = Wording(
    "FT-OPS-052",
    "after the repair, the cluster still differs from stack {stack}: {objects}",
    "`make drift STACK={stack}` names who writes to them: stop that, then run `make repair STACK={stack}` again",
)
NO_PREVIEWERS = Wording(
    "FT-OPS-053", "{file} has no cluster.previewers", "list the users, groups or service accounts (docs/previews.md)"
)
INDEX_UNREADABLE = Wording(
    "FT-OPS-060",
    "{address} cannot be read: {reason}",
    "check the network and the address, or set FLUX_INDEX and KYVERNO_INDEX to a mirror",
)
NOT_AN_INDEX = Wording(
    "FT-OPS-061", "{address} is not {expected}", "set FLUX_INDEX and KYVERNO_INDEX to lists of that form"
)
PUBLISHED_DIGEST_DIFFERS = Wording(
    "FT-OPS-062",
    "{file} has the SHA-256 digest {digest}, but its index says {published}",
    "do not install this release before you know why",
)
NOT_EDITABLE = Wording(
    "FT-OPS-300",
    "{file}: {path} cannot be changed without changing other lines",
    "edit the file by hand, or write this part without anchors, aliases and mixed line ends",
)
NOT_READABLE = Wording("FT-OPS-301", "{file} cannot be read: {reason}", "correct it and run the command again")
TENANT_EXISTS = Wording(
    "FT-OPS-302",
    "{file} exists already",
    "choose another name, or leave REPO out to list {tenant} in another stack",
)
NO_REPOSITORY = Wording(
    "FT-OPS-303",
    "there is no {file}",
    "add REPO=ssh://git@<host>/<owner>/<repository>.git to the command, to write it",
)
ALREADY_LISTED = Wording(
    "FT-OPS-304", "{file} lists {tenant} already", "name the stacks that do not list it: STACK={others}"
)
NO_FILE_KEYS = Wording(
    "FT-OPS-305",
    "{keys} would change {file}, which other stacks use",
    "leave it out, and edit the file by hand",
)
PREVIEW_FAILED = Wording(
    "FT-OPS-306",
    "the preview of stack {stack} failed",
    "correct what it says and run `pulumi preview --stack {stack}`; the files stay changed",
)
NOTHING_TO_MOVE = Wording(
    "FT-OPS-307",
    "{file}: tenant {tenant} is there already",
    "name where to: REPO=…, BRANCH=… or FOLDER=…",
)
NO_SYNC = Wording(
    "FT-OPS-308",
    "the cluster of stack {stack} has no Kustomization {name} of tenant {tenant}",
    "apply the stack first: `pulumi up --stack {stack}`",
)
NOT_MOVED = Wording(
    "FT-OPS-309",
    "tenant {tenant} has not moved yet in stack {stack}: {reason}",
    "run `pulumi up --stack {stack}` and wait until Flux has applied the new place: if it pruned before, it could "
    "delete what runs",
)
NO_BACKUP = Wording(
    "FT-OPS-310",
    "tenant {tenant} cannot be backed up: {reason}",
    "correct it and run the command again, or add BACKUP=none to offboard without a backup",
)
NO_RECIPIENT = Wording("FT-OPS-311", "AGE: {reason}", "set AGE to an X25519 recipient, which begins with age1")
NOT_LISTED = Wording("FT-OPS-312", "{file} lists no tenant {tenant}", "name one of these: {tenants}")
UNKNOWN_PLACE = Wording(
    "FT-OPS-313", "{variable}: tenant {tenant} has no {name} that can be moved", "name one of these: {names}"
)
