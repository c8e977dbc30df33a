"""What the policies package says while it waits for the policies of an update."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_ENFORCED = Wording(
    "FT-POL-001",
    "the engine {engine} does not enforce the policies {seconds:.0f} s after they were applied, so no tenant was "
    "changed: {reason}",
    "check that the API server and, for kyverno, Kyverno are healthy, and run the update again",
)
