"""What a preview does not know, so that an update can follow the plan that it saves."""

import pulumi
import pytest
from recorded_program import run

from components.engine.update_plans import made_once, unplanned


def answer(value, *, preview):
    """Whether an output is known in a run of the program, and what it says."""
    found = []

    async def program():
        output = value()
        found.append((await output.is_known(), await output.future()))

    run(program, preview=preview)
    return found[0]


def test_a_random_value_is_made_by_the_update_alone():
    made = iter(["first", "second"])

    assert answer(lambda: made_once(lambda: next(made)), preview=True) == (False, None)
    assert answer(lambda: made_once(lambda: next(made)), preview=False) == (True, "first")


@pytest.mark.parametrize("plans", [True, False])
def test_what_the_cluster_shows_is_no_part_of_a_plan(monkeypatch, plans):
    monkeypatch.setattr("components.engine.update_plans.makes_plan", lambda: plans)
    observed = {"ready": "True"}

    previewed = answer(lambda: unplanned(pulumi.Output.from_input(observed)), preview=True)

    assert previewed == ((False, None) if plans else (True, observed))
    assert answer(lambda: unplanned(pulumi.Output.from_input(observed)), preview=False) == (True, observed)
