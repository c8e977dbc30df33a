"""Kyverno serves when it refuses a broken policy, and only that."""

import pytest
from message_codes import codes

from flux_tenancy.components.installs.kyverno import DENIAL, DRY_RUNS
from flux_tenancy.components.installs.product import NotServing, wait_until_serving

DENIED = f"{DENIAL}: compilation failed"
NO_SERVICE = 'failed calling webhook "validate-policy.kyverno.svc": connection refused'


class Cluster:
    """Answers each round of probes with the next pair; the last one stays. Time passes with each wait."""

    def __init__(self, *rounds):
        self.rounds = list(rounds)
        self.waited = 0.0

    def refusal(self, manifest):
        good, broken = self.rounds[0]
        return good if manifest == DRY_RUNS.admitted[1] else broken

    def sleep(self, seconds):
        self.waited += seconds
        if len(self.rounds) > 1:
            self.rounds.pop(0)

    def wait(self):
        wait_until_serving(DRY_RUNS, self.refusal, 10.0, clock=lambda: self.waited, sleep=self.sleep)


def test_a_kyverno_that_refuses_only_the_broken_policy_serves_at_once():
    cluster = Cluster((None, DENIED))

    cluster.wait()

    assert cluster.waited == 0


def test_the_wait_goes_on_while_nothing_or_something_else_answers():
    cluster = Cluster((NO_SERVICE, NO_SERVICE), (None, None), (None, DENIED))

    cluster.wait()

    assert cluster.waited == 2


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((None, None), "a broken policy is not refused"),
        ((NO_SERVICE, NO_SERVICE), f"a broken policy is refused for another reason: {NO_SERVICE}"),
        ((DENIED, DENIED), f"a good policy is refused: {DENIED}"),
    ],
)
def test_a_kyverno_that_never_serves_is_an_error_with_the_reason(answers, reason):
    cluster = Cluster(answers)

    with pytest.raises(NotServing) as refused:
        cluster.wait()

    assert cluster.waited == 10
    assert codes([refused.value]) == ["FT-KYV-007"]
    assert "10 s" in str(refused.value) and reason in str(refused.value)
