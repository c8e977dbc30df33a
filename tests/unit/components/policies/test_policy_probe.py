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


class Cluster:
    """Answers each probe with the next answer; the last one stays. Time passes with each wait."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.waited = 0.0

    def answer(self, manifest):
        self.asked.append(manifest)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def sleep(self, seconds):
        self.waited += seconds

    def wait(self, engine=PolicyEngine.KYVERNO):
        wait_until_in_force(engine, DIGEST, self.answer, 10.0, clock=lambda: self.waited, sleep=self.sleep)


@ENGINES
def test_a_set_whose_probe_refuses_is_in_force_at_once(engine):
    cluster = Cluster(REFUSED)

    cluster.wait(engine)

    assert cluster.asked == [probe_request(engine)]
    assert cluster.waited == 0


def test_the_wait_goes_on_while_the_previous_set_or_no_engine_answers():
    cluster = Cluster(None, BEFORE, NO_SERVICE, REFUSED)

    cluster.wait()

    assert len(cluster.asked) == 4


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
    cluster = Cluster(answer)

    with pytest.raises(NotInForce) as refused:
        cluster.wait(engine)

    assert cluster.waited == 10
    message = message_of(refused.value)
    assert message.code == "FT-POL-001"
    assert set(values_of(message)) == {engine.value, "10", reason}
