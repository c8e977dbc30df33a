"""What the git package says at run time, most of it about GitHub."""

from __future__ import annotations

from components.config.wordings import Wording

NO_CREDENTIALS = Wording(
    "FT-GIT-001",
    "{owner} has neither a token nor an App, and GITHUB_TOKEN is not set",
    "set GITHUB_TOKEN, or store a token: `pulumi config set --secret --path github.owners.{owner}.token`",
)
UNREACHABLE = Wording("FT-GIT-002", "cannot reach GitHub at {url}", "check github.baseUrl and the network")
NOT_GITHUB = Wording("FT-GIT-003", "{url} does not answer like GitHub", "check github.baseUrl")
CREDENTIALS_REJECTED = Wording("FT-GIT-004", "GitHub rejects the credentials of {owner}", "renew them")
REPOSITORY_NOT_FOUND = Wording(
    "FT-GIT-005",
    "{repository} does not exist, or the credentials of {owner} have no access to it",
    "correct the repository or the credentials",
)
RATE_LIMITED = Wording(
    "FT-GIT-006",
    "GitHub's rate limit is exceeded{until}",
    "try again later, or use an App, which has a rate limit of its own",
)
UNEXPECTED_STATUS = Wording(
    "FT-GIT-007", "GitHub answers {status} for {repository}", "check GitHub's status page and try again"
)
NOT_ADMIN = Wording(
    "FT-GIT-008",
    "the credentials of {owner} can read {repository} but not administer it",
    "grant them admin access to it",
)
APP_REJECTED = Wording(
    "FT-GIT-009",
    "GitHub rejects its App",
    "renew the private key: `pulumi config set --secret --path github.owners.{owner}.app.privateKey`",
)
TOKEN_REJECTED = Wording(
    "FT-GIT-010",
    "GitHub rejects its token",
    "renew it: `pulumi config set --secret --path github.owners.{owner}.token`",
)
ENVIRONMENT_TOKEN_REJECTED = Wording(
    "FT-GIT-011",
    "GitHub rejects GITHUB_TOKEN, which this owner uses because it has neither a token nor an App",
    "renew GITHUB_TOKEN",
)
UNUSED_OWNER = Wording(
    "FT-GIT-012",
    "{file}: github.owners.{owner}: no source of this stack is in a repository of {owner}",
    "remove it with `pulumi config rm --path github.owners.{owner}`",
)
UNUSED_CREDENTIALS = Wording(
    "FT-GIT-013",
    UNUSED_OWNER.text,
    f"{UNUSED_OWNER.remedy}, and revoke its credentials if nothing else uses them",
)
GONE = Wording(
    "FT-GIT-015",
    "{what} of {repository} does not exist at GitHub any more, or the credentials have no access to it; the next "
    "update removes it from the state without deleting it",
    "if it is still at GitHub, delete it there",
)
LEFTOVER_IN_USE = Wording(
    "FT-GIT-020",
    "{what} of {repository} is not in the stack's state; it has been used, so it stays",
    "remove it at GitHub unless another project uses it",
)
LEFTOVER_PREVIEW = Wording(
    "FT-GIT-021",
    "{what} of {repository} is not in the stack's state: an update was interrupted; the next one removes it",
)
LEFTOVER_REMOVED = Wording(
    "FT-GIT-022",
    "{what} of {repository} was not in the stack's state: an update was interrupted; it is now removed",
)
LEFTOVERS_UNKNOWN = Wording("FT-GIT-023", "cannot read the deploy keys and webhooks of {repository}: {reason}")
LEFTOVER_NOT_REMOVED = Wording("FT-GIT-024", "cannot remove {what} of {repository}: {reason}")
DEPLOY_KEY_TAKEN = Wording(
    "FT-GIT-025",
    "its deploy key is already registered in {repository} as {title!r}",
    "generate another key with `make deploy-key`, or remove it there if nothing uses it",
)
REPOSITORY_LOST = Wording(
    "FT-GIT-014",
    "{source}: {repository} does not exist any more, or the credentials of github.owners.{owner} have no access to it: "
    "nothing new is registered there, and everything else is applied",
    "correct the repository or the credentials, or remove the tenant",
)
ROTATED = Wording(
    "FT-GIT-030",
    "{sync}: Flux has fetched with the new deploy key {new}; the next `pulumi up` removes the previous one, "
    "{previous}, from {repository}",
)
ROTATION_PENDING = Wording(
    "FT-GIT-031",
    "{sync}: Flux has not fetched with the new deploy key {new}: {reason}; the previous key, {previous}, stays "
    "registered at {repository}",
    "once Flux has fetched, run `pulumi up` again to remove it",
)
