"""What the commands for reviewers say when they cannot go on."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_RENDER = Wording(
    "FT-REV-001",
    "{folder} has files that `make render` has not written",
    "name an empty folder, or one of an earlier render, with OUT=…",
)
