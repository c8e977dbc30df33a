"""What the commands for reviewers say when they cannot go on, or refuse."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_RENDER = Wording(
    "FT-REV-001",
    "{folder} has files that `make render` has not written",
    "name an empty folder, or one of an earlier render, with OUT=…",
)
NOT_APPROVED = Wording(
    "FT-REV-501",
    "stack {stack} would apply {digest}, but {approved} was approved",
    "nothing was applied; to see what differs, name the digest.json of the approved render in place of its digest",
)
NOT_APPROVED_LISTED = Wording(
    "FT-REV-502",
    "stack {stack} would apply {digest}, but {approved} was approved:{differences}",
    "nothing was applied; review these objects, and approve {digest}",
)
NO_APPROVAL = Wording(
    "FT-REV-503",
    "APPROVED {reason}",
    "set it to a digest like sha256:0123…, or to the file digest.json that `make render` writes",
)
APPROVAL_OF_ANOTHER_STACK = Wording(
    "FT-REV-504", "{file} is the render of stack {found}, not of {stack}", "approve the render of {stack}"
)
NO_HOST = Wording(
    "FT-REV-510",
    "{variables} is not set",
    "set it as GitHub Actions does: GITHUB_REPOSITORY to owner/name, GITHUB_TOKEN to a token that may write comments",
)
HOST_REFUSES = Wording(
    "FT-REV-511",
    "{api} answers {status}: {reason}",
    "check that the token is valid, and that the job has the permissions in docs/review.md",
)
HOST_UNREACHABLE = Wording("FT-REV-512", "{api} does not answer", "run the job again")
NO_ARTIFACT = Wording(
    "FT-REV-513", "run {run} has no artifact {artifact}", "look why its jobs have failed, and run them again"
)
ARTIFACT_TOO_LARGE = Wording(
    "FT-REV-514",
    "artifact {artifact} of run {run} is larger than {limit} bytes",
    "look into the run: its report does not come from `make diff`",
)
ARTIFACT_UNREADABLE = Wording(
    "FT-REV-515", "artifact {artifact} of run {run} is not a ZIP archive", "run its jobs again"
)
REPORT_UNREADABLE = Wording(
    "FT-REV-516",
    "artifact {artifact} has no report, or digests that are not those of a render",
    "look into the run: its files do not come from `make diff` and `make render`",
)
NOT_OF_A_PULL_REQUEST = Wording(
    "FT-REV-517", "run {run} is one of event {event}, not of a pull request", "name a run of the workflow `review`"
)
NO_PULL_REQUEST = Wording(
    "FT-REV-518", "run {run} is one of several pull requests: {numbers}", "close all but one of them"
)
NOT_A_LIST_OF_STACKS = Wording(
    "FT-REV-519",
    "STACKS is not a list of names",
    'set it to a JSON list like ["staging", "production"], or leave it out',
)
NOT_MERGED = Wording(
    "FT-REV-520",
    "commit {commit} was not made by merging a pull request, so nobody has approved what it applies",
    "change stacks by pull request; to apply this commit nevertheless, run `make apply` with a digest of your own",
)
NOT_REVIEWED = Wording(
    "FT-REV-521",
    "no successful run of {workflow} has seen head {head} of #{number}",
    "require the checks of {workflow} before merging; revert the commit, and open the pull request again",
)
