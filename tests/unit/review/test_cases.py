"""Each case of `cases/` is said where it must be said."""

from __future__ import annotations

import pytest
from sample_cases import Case, Project, diff, keys, read_cases, sentences

CASES = read_cases()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("cases") / "project")


@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_a_change_is_said(project, case: Case):
    report = project.report(case)
    risks = [each.sentence for each in report.risks]
    found = {"risk": risks, "says": sentences(report), "shows": diff(report), "key": keys(report)}
    expected = {where: case.expected[where] for where in found if where in case.expected}
    assert expected
    for where, part in expected.items():
        assert any(part in line for line in found[where]), f"{where}: {found}"
    assert report.headline != "No applied object changes"
    assert keys(report)
    assert not (case.expected.get("harmless") and risks), risks
