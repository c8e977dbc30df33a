"""What the policies newly refuse, in the comparison of two renders."""

from __future__ import annotations

import pytest
from sample_objects import kubernetes, render_of

import flux_tenancy.review.report.compare
from flux_tenancy.review.admission.program import Answer, Objection
from flux_tenancy.review.report.compare import refusals_of

REFUSED = Objection("flux-tenancy-sources", True, "the source is not allowed")


@pytest.fixture
def answers(monkeypatch):
    """The API server's objections to the objects of each render, by their digest."""
    found: dict[str, dict[tuple[str, str], Answer]] = {}
    monkeypatch.setattr(
        flux_tenancy.review.report.compare,
        "admission_answers",
        lambda program, render, project, about: found[render.digest],
    )
    return found


def test_only_what_is_newly_refused_is_told(answers, tmp_path):
    old, new = kubernetes("GitRepository", "old", "apps"), kubernetes("GitRepository", "new", "apps")
    before, after = render_of(old), render_of(old, new)
    answers[before.digest] = {old.key: Answer(objections=(REFUSED,))}
    answers[after.digest] = {old.key: Answer(objections=(REFUSED,)), new.key: Answer(objections=(REFUSED,))}

    [statement] = refusals_of(tmp_path, before, after, tmp_path)

    assert statement.risk and statement.names_owner
    assert statement.text.endswith("refuses GitRepository apps/new: the source is not allowed")


def test_nothing_is_told_where_nothing_is_refused(answers, tmp_path):
    after = render_of(kubernetes("GitRepository", "new", "apps"))
    answers[after.digest] = {}

    assert refusals_of(tmp_path, None, after, tmp_path) == ()
