"""Each engine is measured twice, in turns, and only after it refuses what it has to."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from dev.bench import admission
from dev.bench.admission import ENGINES, measure_admission
from dev.bench.rig import Rig
from dev.bench.tenant_requests import OUTSIDE, VERBS, targets
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.operations.admission.answers import Response

NATIVE, KYVERNO = PolicyEngine.NATIVE, PolicyEngine.KYVERNO
REFUSALS = {
    NATIVE: "services \"x\" is forbidden: ValidatingAdmissionPolicy 'flux-tenancy-service-exposure' with binding 'x' "
    "denied request: no",
    KYVERNO: 'admission webhook "vpol.validate.kyverno.svc" denied the request: '
    "Policy flux-tenancy-service-exposure failed: no",
}


@dataclass
class FakeRig:
    """A cluster that evaluates the policies of an engine from the second request after the switch.

    Attributes:
        engines: the engines that it was switched to.
        requests: the timed requests, each with the engine of that time.
        silent: an engine that never refuses anything.
    """

    silent: PolicyEngine | None = None
    kubeconfig: str = "kubeconfig"
    engines: list[PolicyEngine] = field(default_factory=list)
    requests: list[tuple[PolicyEngine, str, str]] = field(default_factory=list)
    looks: int = 0

    kyverno = "Kyverno"
    engine: PolicyEngine = PolicyEngine.NONE

    @property
    def cluster(self) -> FakeRig:
        return self

    def configure(self, tenants: Mapping[str, str] | None = None, **sections: Any) -> None:
        assert list(tenants or ["team-001"]) == ["team-001"]
        if sections:
            self.engine = PolicyEngine(sections["policies"]["engine"])
            assert (sections["kyverno"] == "Kyverno") == self.engine.kyverno

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert OUTSIDE in arguments[-1]
        return subprocess.CompletedProcess(arguments, 0)

    def up(self) -> None:
        self.engines.append(self.engine)
        self.looks = 0

    def token(self, tenant: str) -> str:
        return f"token of {tenant}"


class FakeClient:
    rig: FakeRig

    def __init__(self, kubeconfig: str, token: str) -> None:
        assert token == "token of team-001"

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def timed(self, method: str, path: str, body: Any = None) -> float:
        self.rig.requests.append((self.rig.engines[-1], method, path))
        return float(len(self.rig.requests))

    def ask(self, method: str, path: str, body: Any = None) -> Response:
        assert path.endswith("?dryRun=All")
        engine, before = [*[PolicyEngine.NATIVE], *self.rig.engines][-2:][::-1]
        self.rig.looks += 1
        # The previous engine stays for a moment.
        now = before if self.rig.looks == 1 else engine
        if now in (PolicyEngine.NONE, self.rig.silent):
            return Response(201)
        return Response(422, (), REFUSALS[KYVERNO if now is KYVERNO else NATIVE])


@pytest.fixture
def rig(monkeypatch) -> FakeRig:
    rig = FakeRig()
    monkeypatch.setattr(FakeClient, "rig", rig, raising=False)
    monkeypatch.setattr(admission, "TenantClient", FakeClient)
    monkeypatch.setattr("tests.support.lab.time.sleep", lambda _: None)
    return rig


def test_every_engine_is_measured_twice_in_one_order_and_then_in_the_other(rig: FakeRig) -> None:
    lines: list[str] = []

    samples = measure_admission(cast(Rig, rig), 5, lines.append)

    assert rig.engines == [*ENGINES, *reversed(ENGINES)]
    assert [line.rpartition(" ")[2] for line in lines] == rig.engines
    requests = {f"{verb} {target.name}" for verb in VERBS for target in targets("team-001")}
    assert set(samples) == {(engine, request) for engine in ENGINES for request in requests}
    assert {len(each) for each in samples.values()} == {5}


def test_requests_for_warming_up_do_not_count(rig: FakeRig) -> None:
    samples = measure_admission(cast(Rig, rig), 4, lambda _: None)

    kinds = len(targets("team-001")) * len(VERBS)
    by_engine = Counter(engine for engine, _, _ in rig.requests)
    assert set(by_engine.values()) == {kinds * (2 * admission.WARM_UP + 4)}
    # The fake returns the number of the request as its seconds.
    assert min(second for seconds in samples.values() for second in seconds) == admission.WARM_UP * kinds + 1


def test_an_engine_that_refuses_nothing_is_an_error(rig: FakeRig, monkeypatch) -> None:
    rig.silent = KYVERNO
    monkeypatch.setattr(admission, "_TIMEOUT_SECONDS", 0.05)

    with pytest.raises(AssertionError, match="a refusal by kyverno under kyverno not seen"):
        measure_admission(cast(Rig, rig), 4, lambda _: None)
