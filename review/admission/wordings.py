"""What the commands for reviewers say about the program that answers for an API server."""

from __future__ import annotations

from components.config.wordings import Wording

ADMISSION_FAILED = Wording("FT-REV-302", "{program} failed: {reason}", "build it again with `make tools`")
NOT_CHECKED = Wording(
    "FT-REV-301",
    "the objects are not held against schemas and policies, since {program} is not on PATH",
    "build it with `make tools`, or set {variable} to its path",
)
FOUND = Wording("FT-REV-303", "an API server would not accept {count} of {total} objects:{listed}")
