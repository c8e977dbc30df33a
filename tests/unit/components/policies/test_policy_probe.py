"""A set of policies is in force when the cluster refuses its probe in the words of this very set."""

import pytest

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.policies.component import NotInForce, probe_answer, probe_request, wait_until_in_force
from flux_tenancy.components.policies.config import PolicyEngine
from tests.support.messages import values_of

DIGEST = "0123456789abcdef"
REFUSED = f"admission webhook denied the request: {probe_answer(DIGEST)}"
BEFORE = f"admission webhook denied the request: {probe_answer('fedcba9876543210')}"
NO_SERVICE = "failed calling webhook: connection refused"

ENGINES = pytest.mark.parametrize("engine", [PolicyEngine.NATIVE, PolicyEngine.KYVERNO])


def wait(engine, answers):
    """What is asked and how long it takes; the last answer stays, and time passes with each wait."""
    left, asked, waited = list(answers), list[object](), list[float]()

    def answer(manifest):
        asked.append(manifest)
        return left.pop(0) if len(left) > 1 else left[0]

    try:
        wait_until_in_force(engine, DIGEST, answer, 10.0, clock=lambda: sum(waited), sleep=waited.append)
    finally:
        assert asked == [probe_request(engine)] * (len(waited) + 1)
    return sum(waited)


@ENGINES
@pytest.mark.parametrize(("answers", "seconds"), [([REFUSED], 0), ([None, BEFORE, NO_SERVICE, REFUSED], 3)])
def test_a_set_is_in_force_once_its_own_probe_refuses(engine, answers, seconds):
    assert wait(engine, answers) == seconds


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "the cluster accepts an object that they refuse"),
        (BEFORE, f"the cluster refuses it for another reason: {BEFORE}"),
        (NO_SERVICE, f"the cluster refuses it for another reason: {NO_SERVICE}"),
    ],
)
@ENGINES
def test_a_timeout_reports_the_last_answer(engine, answer, reason):
    with pytest.raises(NotInForce) as refused:
        wait(engine, [answer])

    message = message_of(refused.value)
    assert message.code == "FT-POL-001"
    assert set(values_of(message)) == {engine.value, "10", reason}
