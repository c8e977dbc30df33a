"""One run of the suite: tries every attempt and every control, and judges the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from kubernetes import client

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation import attempts as catalogue
from flux_tenancy.isolation.asking import Asker, RefusedBy, refusal, unknown_field
from flux_tenancy.isolation.live import LiveObjects, removed_afterwards
from flux_tenancy.isolation.model import (
    REQUEST_ORDER,
    AccessReview,
    Attempt,
    AttemptResult,
    Control,
    ControlResult,
    Finding,
    Layer,
    Live,
    Proof,
    Request,
    State,
    Verdict,
)
from flux_tenancy.isolation.scene import Scene
from flux_tenancy.operations.admission.answers import Response

Selected = Callable[[str], bool]
TAKEN = "the API server would accept it"
_UNDONE = "the API server would store it without the attempt"


class Suite:
    """Runs the suite against a cluster.

    Args:
        api: a client for the cluster whose user may impersonate others.
        scene: the cluster.
        without: layers to ignore.
        live: whether to create objects.
    """

    def __init__(
        self, api: client.ApiClient, scene: Scene, without: Collection[Layer] = (), live: bool = False
    ) -> None:
        self._scene = scene
        self._without = without
        self._asker = Asker(api, scene.kinds)
        self._live = LiveObjects(api, self._asker, scene) if live else None
        self._deputy = ""
        self._answers: dict[str, Response] = {}

    def run(self, selected: Selected = lambda _: True) -> tuple[tuple[AttemptResult, ...], tuple[ControlResult, ...]]:
        """Try all attempts and all controls.

        Args:
            selected: whether to try the attempt or control with this id.

        Raises:
            OperationError: the user of the suite lacks rights, or a created object cannot be removed.
            ClusterUnavailable: the cluster does not answer.
        """
        with nullcontext() if self._live is None else removed_afterwards(self._live):
            if self._live is not None:
                self._deputy = self._live.deputy()
            made = [each for each in catalogue.attempts(self._scene) if selected(each.id)]
            results = tuple(self.attempt(each) for each in made)
            wanted = [each for each in catalogue.controls(self._scene) if selected(each.id)]
            return results, tuple(self.control(each) for each in wanted)

    def attempt(self, attempt: Attempt) -> AttemptResult:
        return judged(attempt, list(self._findings(attempt.proofs)), self._without)

    def control(self, control: Control) -> ControlResult:
        proof = control.proof
        user = proof.user or self._scene.tenancy.user
        if isinstance(proof, AccessReview):
            allowed = self._asker.allows(proof, user)
            verdict = Verdict.PASSED if allowed else Verdict.REFUSED
            return ControlResult(control, verdict, "" if allowed else f"RBAC does not allow {user} to {_said(proof)}")
        if not self._asker.serves(proof.object):
            return ControlResult(control, Verdict.NOT_APPLICABLE, f"the cluster has no {proof.object['kind']}")
        answer = self._asked(proof, user)
        if not answer.refused:
            return ControlResult(control, Verdict.PASSED, "")
        who = refusal(answer.status, answer.message)
        verdict = Verdict.UNPROVEN if who.layer is None else Verdict.REFUSED
        return ControlResult(control, verdict, answer.message)

    def _findings(self, proofs: Iterable[Proof]) -> Iterator[Finding]:
        for proof in proofs:
            match proof:
                case Request():
                    yield from self._of_request(proof)
                case AccessReview():
                    yield self._of_access(proof)
                case Live():
                    if self._live is not None:
                        yield self._live.answer(proof)
                case Finding():
                    yield proof

    def _of_access(self, access: AccessReview) -> Finding:
        user = access.user or self._scene.tenancy.user
        what = _said(access)
        if self._asker.allows(access, user):
            return Finding(access.layer, State.OPEN, f"RBAC allows {user} to {what}")
        return Finding(access.layer, State.HOLDS, f"RBAC does not allow {user} to {what}", "RBAC")

    def _of_request(self, request: Request) -> Iterator[Finding]:
        kind = request.object["kind"]
        if not self._asker.serves(request.object):
            yield from (Finding(layer, State.NOT_APPLICABLE, f"the cluster has no {kind}") for layer in request.layers)
            return
        user = request.user or self._scene.tenancy.user
        answer = self._asked(request, user)
        if field := unknown_field(answer.message):
            missing = f"{kind}s of the cluster have no {field}"
            yield from (Finding(layer, State.NOT_APPLICABLE, missing) for layer in request.layers)
            return
        if not answer.refused:
            undone = _is_undone(request.object, request.baseline, answer.stored)
            for layer in request.layers:
                if undone and layer is Layer.ADMISSION:
                    yield Finding(layer, State.HOLDS, _UNDONE)
                else:
                    yield Finding(layer, State.OPEN, TAKEN)
            return
        who = refusal(answer.status, answer.message)
        yield from self._of_refusal(request, user, answer, who)
        others = tuple(layer for layer in request.layers if layer is not Layer.ROLE)
        if who.layer is Layer.ROLE and self._deputy and others and not request.user:
            # The deputy has all rights, so the other layers are reached.
            yield from self._of_request(replace(request, layers=others, user=self._deputy))

    def _of_refusal(self, request: Request, user: str, answer: Response, who: RefusedBy) -> Iterator[Finding]:
        asked = [layer for layer in REQUEST_ORDER if layer in request.layers]
        if who.layer is None:
            yield from (Finding(layer, State.UNPROVEN, f"{who.by}: {answer.message}") for layer in asked)
            return
        if who.layer is not Layer.ROLE and (reason := self._proves_nothing(request, user, who)):
            yield from (Finding(layer, State.UNPROVEN, f"{reason}: {answer.message}") for layer in asked)
            return
        yield Finding(who.layer, State.HOLDS, answer.message, who.by)
        at = REQUEST_ORDER.index(who.layer)
        for layer in asked:
            if REQUEST_ORDER.index(layer) < at:
                yield Finding(layer, State.OPEN, f"{layer} allows it")
            elif layer is not who.layer:
                yield Finding(layer, State.NOT_REACHED, f"{who.layer} refuses first")

    def _proves_nothing(self, request: Request, user: str, who: RefusedBy) -> str:
        """Why a refusal may be unrelated to the attempt; empty if it is related."""
        if request.baseline is None:
            return "" if who.layer in request.layers else f"refused by {who.layer}, which is not tested here"
        baseline = self._asked(Request(request.baseline, ()), user)
        if baseline.refused and refusal(baseline.status, baseline.message) == who:
            return "the same object without the attempt is also refused"
        return ""

    def _asked(self, request: Request, user: str) -> Response:
        """The answer to a request; each is sent once."""
        parts: list[Manifest | str | None] = [user, request.verb, request.subresource, request.object, request.change]
        key = json.dumps(parts, sort_keys=True)
        if key not in self._answers:
            self._answers[key] = self._asker.dry_run(request, user)
        return self._answers[key]


def _is_undone(tried: object, baseline: object, stored: object) -> bool:
    """Whether admission has changed back everything by which an attempt differs from its baseline."""
    if isinstance(tried, Mapping) and isinstance(baseline, Mapping) and isinstance(stored, Mapping):
        keys = [key for key in tried.keys() | baseline.keys() if tried.get(key) != baseline.get(key)]
        return bool(keys) and all(_is_undone(tried.get(key), baseline.get(key), stored.get(key)) for key in keys)
    return baseline is not None and stored == baseline


def _said(access: AccessReview) -> str:
    resource = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    which = f"{resource} {access.name}" if access.name else resource
    return f"{access.verb} {which} " + (f"in {access.namespace}" if access.namespace else "in the whole cluster")


# The first of these that a layer's findings have is its state: it holds only if all its proofs hold.
_WORST = (State.OPEN, State.UNPROVEN, State.HOLDS, State.NOT_REACHED, State.NOT_APPLICABLE)


def alone(findings: Sequence[Finding]) -> dict[Layer, Finding]:
    """What each layer alone does."""
    states: dict[Layer, Finding] = {}
    for each in sorted(findings, key=lambda finding: _WORST.index(finding.state)):
        states.setdefault(each.layer, replace(each, by=printable(each.by), message=printable(each.message)))
    return states


def judged(attempt: Attempt, findings: Sequence[Finding], without: Collection[Layer] = ()) -> AttemptResult:
    """The verdict of an attempt."""
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


def _first(states: Mapping[Layer, Finding], state: State) -> Layer | None:
    """The first layer in this state: those of a request in its order, then the others."""
    order = [*REQUEST_ORDER, *(layer for layer in Layer if layer not in REQUEST_ORDER)]
    return next((layer for layer in order if layer in states and states[layer].state is state), None)
