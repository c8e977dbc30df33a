"""The verdict of an attempt or a control, out of what was found about its layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from components.config.printable import printable
from isolation.model import (
    REQUEST_ORDER,
    Attempt,
    AttemptResult,
    Finding,
    Layer,
    LayerState,
    State,
    Verdict,
)

# Of several findings about one layer the first of these counts: it holds when all that was asked of it holds.
_WORST = (State.OPEN, State.HOLDS, State.UNPROVEN, State.NOT_APPLICABLE)


def alone(findings: Sequence[Finding]) -> dict[Layer, LayerState]:
    """What each layer does alone."""
    states: dict[Layer, LayerState] = {}
    for state in _WORST:
        for finding in findings:
            if finding.state is state:
                states.setdefault(finding.layer, LayerState(state, printable(finding.by), printable(finding.message)))
    return states


def judged(attempt: Attempt, findings: Sequence[Finding], without: Collection[Layer] = ()) -> AttemptResult:
    """The verdict of an attempt.

    Args:
        attempt: the attempt.
        findings: what was found about its layers.
        without: layers that do not count.
    """
    states = alone([finding for finding in findings if finding.layer not in without])

    def result(verdict: Verdict, layer: Layer | None, message: str, by: str = "") -> AttemptResult:
        return AttemptResult(attempt, verdict, layer, by, message, states)

    if not any(layer not in without for layer in attempt.layers):
        only = " and ".join(attempt.layers)
        return result(Verdict.NOT_APPLICABLE, None, f"nothing but {only} is meant to refuse this")
    by_state = {state: _first(states, state) for state in State}
    if (layer := by_state[State.HOLDS]) is not None:
        return result(Verdict.REFUSED, layer, states[layer].message, states[layer].by)
    if (layer := by_state[State.UNPROVEN]) is not None:
        return result(Verdict.UNPROVEN, layer, states[layer].message)
    if (layer := by_state[State.OPEN]) is not None:
        if attempt.by_choice:
            return result(Verdict.NOT_APPLICABLE, None, f"open by choice: {attempt.by_choice}")
        return result(Verdict.PASSED, None, states[layer].message)
    layer = by_state[State.NOT_APPLICABLE]
    return result(Verdict.NOT_APPLICABLE, None, states[layer].message if layer else "nothing was asked")


def _first(states: Mapping[Layer, LayerState], state: State) -> Layer | None:
    """The first layer in this state: those of a request in its order, then the others."""
    order = [*REQUEST_ORDER, *(layer for layer in Layer if layer not in REQUEST_ORDER)]
    return next((layer for layer in order if layer in states and states[layer].state is state), None)
