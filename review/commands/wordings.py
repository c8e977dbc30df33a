"""What the commands for reviewers say when they cannot go on, or refuse."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_RENDER = Wording(
    "FT-REV-001",
    "{folder} has files that `make render` has not written",
    "name an empty folder, or one of an earlier render, with OUT=…",
)
NOT_WRITTEN = Wording("FT-REV-205", "{file} cannot be written: {reason}", "set FILE to another path")
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
    "change stacks by pull request: revert the commit, and open one",
)
NOT_REVIEWED = Wording(
    "FT-REV-521",
    "no successful run of {workflow} has seen head {head} of #{number}",
    "require the checks of {workflow} before merging; revert the commit, and open the pull request again",
)
