"""What reviewers have decided about a stack: deletions that they have acknowledged, and rules that they waive."""

from __future__ import annotations

from pydantic import Field

from components.config.section import Section


class ReviewConfig(Section):
    """Decisions of reviewers. They change nothing in the cluster (docs/review.md)."""

    acknowledge: tuple[str, ...] = Field(
        (),
        description="Deletions that the reviewers accept, each as the diff of a pull request prints it: "
        "`<owner>@<digest>`. An entry fits exactly one set of deletions, so a forgotten one permits nothing else.",
    )
