"""Values that are unknown in a preview, so that an update can follow its saved plan."""

import pulumi
import pytest
from recorded_program import run

from flux_tenancy.components.engine.state import made_once, unplanned


def answer(value, *, preview):
    """Whether an output is known in a run of the program, and its value."""
    found = []

    async def program():
        output = value()
        found.append((await output.is_known(), await output.future()))

    run(program, preview=preview)
    return found[0]


def test_a_random_value_is_generated_only_in_an_update():
    made = iter(["first", "second"])

    assert answer(lambda: made_once(lambda: next(made)), preview=True) == (False, None)
    assert answer(lambda: made_once(lambda: next(made)), preview=False) == (True, "first")


@pytest.mark.parametrize("plans", [True, False])
def test_values_from_the_cluster_are_unknown_in_a_saved_plan(monkeypatch, plans):
    monkeypatch.setattr("flux_tenancy.components.engine.state.makes_plan", lambda: plans)
    observed = {"ready": "True"}

    previewed = answer(lambda: unplanned(pulumi.Output.from_input(observed)), preview=True)

    assert previewed == ((False, None) if plans else (True, observed))
    assert answer(lambda: unplanned(pulumi.Output.from_input(observed)), preview=False) == (True, observed)
