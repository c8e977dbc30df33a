"""Waivers in the stack file: what is accepted, and every error at once."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
import yaml
from sample_stack import load, problems

from flux_tenancy.components.stack import config as decisions
from flux_tenancy.components.stack.config import RuleName

TODAY = date(2026, 3, 1)
WAIVER = {"rule": "policy-not-enforced", "reason": "The rollout ends in June.", "expires": "2026-06-30"}


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "today", lambda: TODAY)


def test_a_waiver_names_a_rule_a_reason_and_the_last_day_on_which_it_holds(tmp_path):
    config = load(tmp_path, review={"waivers": [WAIVER | {"resource": "policies.mode"}]})

    [waiver] = config.review.waivers
    assert waiver.rule is RuleName.POLICY_NOT_ENFORCED
    assert (waiver.resource, waiver.reason) == ("policies.mode", "The rollout ends in June.")
    assert waiver.expires == date(2026, 6, 30)


@pytest.mark.parametrize(
    "written",
    [
        "2026-06-30",
        # As Pulumi passes a date without quotes, and writes it back.
        "2026-06-30 00:00:00 +0000 UTC",
        # As the offline loader passes it.
        "2026-06-30T00:00:00",
        "2026-06-30T00:00:00Z",
    ],
)
def test_a_date_may_be_written_with_or_without_quotes(tmp_path, written):
    config = load(tmp_path, review={"waivers": [WAIVER | {"expires": written}]})

    assert config.review.waivers[0].expires == date(2026, 6, 30)


def test_a_date_that_yaml_has_read_is_taken_as_it_is():
    [expires] = yaml.safe_load("[2026-06-30]")

    assert decisions.Waiver.model_validate(WAIVER | {"expires": expires}).expires == date(2026, 6, 30)


@pytest.mark.parametrize("days", [0, 366])
def test_a_waiver_holds_from_today_for_at_most_a_year(tmp_path, days):
    expires = TODAY + timedelta(days=days)

    assert load(tmp_path, review={"waivers": [WAIVER | {"expires": str(expires)}]}).review.waivers[0].expires == expires


@pytest.mark.parametrize(
    ("days", "message"),
    [(-1, "'2026-02-28' has passed (today is 2026-03-01)"), (367, "'2027-03-03' is more than a year ahead")],
)
def test_a_waiver_that_has_expired_or_lasts_too_long_is_an_error(tmp_path, days, message):
    expires = str(TODAY + timedelta(days=days))

    [problem] = problems(tmp_path, review={"waivers": [WAIVER | {"expires": expires}]})

    assert problem.startswith(f"Pulumi.staging.yaml: review.waivers[0].expires: {message}")


def test_a_date_that_pulumi_has_written_in_its_own_way_is_shown_as_the_file_has_it(tmp_path):
    [problem] = problems(tmp_path, review={"waivers": [WAIVER | {"expires": "2026-02-28 00:00:00 +0000 UTC"}]})

    assert problem.startswith("Pulumi.staging.yaml: review.waivers[0].expires: '2026-02-28' has passed")


@pytest.mark.parametrize("written", ["soon", "30.06.2026", "2026-02-30", "2026-06-30T12:00:00Z", 20260630, True])
def test_anything_else_is_not_a_date(tmp_path, written):
    [problem] = problems(tmp_path, review={"waivers": [WAIVER | {"expires": written}]})

    assert re.search(r"review\.waivers\[0\]\.expires: .*is not a date; write it like 2027-01-31", problem)


def test_every_error_of_the_waivers_is_reported_at_once(tmp_path):
    lines = problems(
        tmp_path,
        review={
            "waivers": [
                {"rule": "no-such-rule", "expires": "2026-06-30"},
                WAIVER | {"rule": "plain-secret"},
                WAIVER | {"reason": " "},
                WAIVER | {"until": "2026-06-30"},
            ]
        },
    )

    keys = [line.split(": ")[1] for line in lines]
    assert keys == [
        "review.waivers[0].reason",
        "review.waivers[0].rule",
        "review.waivers[1].rule",
        "review.waivers[2].reason",
        "review.waivers[3].until",
    ]
    assert "admin-binding" in lines[1]  # the names to choose from
    assert "can be waived" in lines[2]
