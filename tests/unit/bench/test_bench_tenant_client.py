"""A timed request is granted by the API server; attempts that conflict do not count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dev.bench.tenant_client import TenantClient
from dev.lab.errors import LabError
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.admission.answers import Response

CREATED = Response(201)
CONFLICT = Response(409, message='Operation cannot be fulfilled on resourcequotas "a": the object has been modified')
FORBIDDEN = Response(403, message="no")


class Answering(TenantClient):
    """A client with given answers, each a second after the request."""

    def __init__(self, clock: Iterator[float], *answers: Response) -> None:
        self.clock = clock
        self.answers = list(answers)

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Response:
        next(self.clock)
        return self.answers.pop(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    seconds = iter(range(100))
    monkeypatch.setattr("dev.bench.tenant_client.time.perf_counter", lambda: next(seconds))
    return seconds


def test_a_request_that_conflicts_is_repeated_and_the_last_attempt_is_timed(clock: Iterator[float]) -> None:
    client = Answering(clock, CONFLICT, CONFLICT, CREATED)

    assert client.timed("POST", "/api/v1/things") == 2
    assert client.answers == []


@pytest.mark.parametrize("answers", [(FORBIDDEN, CREATED), (CONFLICT,) * 6])
def test_a_refusal_and_a_lasting_conflict_end_the_benchmark(
    clock: Iterator[float], answers: tuple[Response, ...]
) -> None:
    client = Answering(clock, *answers)

    with pytest.raises(LabError, match=f"was answered with {answers[0].status}: {answers[0].message[:9]}"):
        client.timed("POST", "/api/v1/things")
    assert len(client.answers) == 1
