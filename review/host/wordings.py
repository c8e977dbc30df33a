"""What the commands for reviewers say of the repository's host and of what jobs have left there."""

from __future__ import annotations

from components.config.wordings import Wording

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
