"""What the cluster package says of a cluster at run time."""

from __future__ import annotations

from components.config.wordings import Wording

CO_OWNED_PREVIEW = Wording(
    "FT-CLU-010",
    "{kind} {name}: field manager {manager!r} owns parts of its spec; the update takes them over",
)
CO_OWNED = Wording(
    "FT-CLU-011",
    "{kind} {name}: field manager {manager!r} owned parts of its spec; the update has taken them over",
)
STILL_CO_OWNED = Wording(
    "FT-CLU-012",
    "{kind} {name}: field manager {manager!r} owns parts of its spec and keeps what the stack no longer sets: {reason}",
)
