"""The verdict of an attempt, from the findings about its layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from flux_tenancy.components.config.printable import printable
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import REQUEST_ORDER, Attempt, AttemptResult, Finding, LayerState, State, Verdict

# The first of these that a layer's findings have is its state: it holds only if all its proofs hold.
_WORST = (State.OPEN, State.UNPROVEN, State.HOLDS, State.NOT_REACHED, State.NOT_APPLICABLE)


def alone(findings: Sequence[Finding]) -> dict[Layer, LayerState]:
    """What each layer alone does."""
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
        findings: about its layers.
        without: layers to ignore.
    """
    states = alone([finding for finding in findings if finding.layer not in without])

    def result(verdict: Verdict, layer: Layer | None, message: str, by: str = "") -> AttemptResult:
        return AttemptResult(attempt, verdict, layer, by, message, states)

    if not any(layer not in without for layer in attempt.layers):
        only = " and ".join(attempt.layers)
        return result(Verdict.NOT_APPLICABLE, None, f"only {only} can refuse this")
    by_state = {state: _first(states, state) for state in State}
    if (layer := by_state[State.HOLDS]) is not None:
        return result(Verdict.REFUSED, layer, states[layer].message, states[layer].by)
    if (layer := by_state[State.UNPROVEN] or by_state[State.NOT_REACHED]) is not None:
        return result(Verdict.UNPROVEN, layer, states[layer].message)
    if (layer := by_state[State.OPEN]) is not None:
        if attempt.by_choice:
            return result(Verdict.NOT_APPLICABLE, None, f"open by choice: {attempt.by_choice}")
        return result(Verdict.PASSED, None, states[layer].message)
    layer = by_state[State.NOT_APPLICABLE]
    return result(Verdict.NOT_APPLICABLE, None, states[layer].message if layer else "nothing was tried")


def _first(states: Mapping[Layer, LayerState], state: State) -> Layer | None:
    """The first layer in this state: those of a request in its order, then the others."""
    order = [*REQUEST_ORDER, *(layer for layer in Layer if layer not in REQUEST_ORDER)]
    return next((layer for layer in order if layer in states and states[layer].state is state), None)
