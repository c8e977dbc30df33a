"""What the commands for reviewers say when they find no merge base."""

from __future__ import annotations

from components.config.wordings import Wording

NO_GIT = Wording("FT-REV-201", "git is not on PATH", "install git")
NO_REPOSITORY = Wording("FT-REV-202", "{folder} is not in a Git repository", "run the command in a clone")
UNKNOWN_BASE = Wording(
    "FT-REV-203", "this clone has no commit {base}", "set BASE to a branch or commit that it has, like origin/main"
)
NO_MERGE_BASE = Wording(
    "FT-REV-204",
    "{base} and HEAD have no common history in this clone",
    "fetch the whole history with `git fetch --unshallow`, or in GitHub's checkout with `fetch-depth: 0`",
)
