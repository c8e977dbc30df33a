"""The same report as a table and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console

from flux_tenancy.isolation.model import (
    Attempt,
    AttemptResult,
    Control,
    ControlResult,
    Discrepancy,
    Finding,
    Layer,
    Report,
    Request,
    State,
    Verdict,
)
from flux_tenancy.isolation.report import as_json, as_table
from flux_tenancy.isolation.run import show

REQUEST = Request({}, (Layer.ROLE, Layer.ADMISSION))
MARKUP = "spec.type [bold]NodePort[/bold] <script>alert(1)</script> & more"


def result(
    key: str, verdict: Verdict, layer: Layer | None = None, by: str = "", message: str = MARKUP
) -> AttemptResult:
    states = {Layer.ROLE: Finding(Layer.ROLE, State.OPEN, "x")}
    if layer is not None:
        states[layer] = Finding(layer, State.HOLDS, message, by)
    return AttemptResult(
        Attempt(key, int(key.split("-")[0]), f"name of {key}", (REQUEST,)), verdict, layer, by, message, states
    )


def report(*attempts: AttemptResult, refused: bool = False) -> Report:
    control = Control("tenant-pod", "the tenant makes a Pod", REQUEST)
    verdict = Verdict.REFUSED if refused else Verdict.PASSED
    return Report(
        "staging",
        "https://staging.example.com",
        "v1.36.3",
        "dev-team",
        ("apps",),
        "system:serviceaccount:apps:dev-team",
        False,
        (Layer.QUOTA,),
        "2026-01-01T00:00:00+00:00",
        attempts,
        (ControlResult(control, verdict, "no" if refused else ""),),
    )


MIXED = report(
    result("20-node-port", Verdict.REFUSED, Layer.ADMISSION, "flux-tenancy-service-exposure"),
    result("29-git", Verdict.PASSED),
    result("3-image-policy", Verdict.NOT_APPLICABLE),
    result("13-git", Verdict.UNPROVEN, Layer.ADMISSION),
)


def test_a_run_is_safe_if_no_attempt_passes_and_no_control_is_refused():
    refused = result("20-node-port", Verdict.REFUSED, Layer.ADMISSION)

    assert report(refused, result("13-git", Verdict.UNPROVEN)).safe
    assert not MIXED.safe
    assert not report(refused, refused=True).safe


FOUND = Discrepancy(
    "FT-ISO-100", "was changed", "apps", "ResourceQuota objects", f"pods: 1e8 {MARKUP}", "pods: 500", "restore it"
)


def test_what_is_not_as_intended_is_in_both_formats_and_makes_a_run_unsafe():
    as_intended, changed = replace(report(), inventory=()), replace(report(), inventory=(FOUND,))

    assert report().safe and as_intended.safe and not changed.safe
    content = json.loads(as_json([report(), as_intended, changed]))
    assert [each["inventory"] for each in content["reports"]] == [
        None,
        [],
        [
            {
                "code": "FT-ISO-100",
                "what": "was changed",
                "namespace": "apps",
                "object": "ResourceQuota objects",
                "found": f"pods: 1e8 {MARKUP}",
                "intended": "pods: 500",
                "remedy": "restore it",
            }
        ],
    ]
    out = io.StringIO()
    Console(file=out, width=400).print(as_table([report(), as_intended, changed]))
    [row] = [line for line in out.getvalue().splitlines() if "apps: ResourceQuota objects" in line]
    cells = f"apps: ResourceQuota objects was changed pods: 1e8 {MARKUP} pods: 500 restore it (FT-ISO-100)"
    assert row.split() == cells.split()
    for said in (
        "add --stack or --profile",
        "Inventory: 0 not as intended",
        "Inventory: 1 not as intended",
    ):
        assert said in out.getvalue()


def test_json_has_the_documented_keys():
    content = json.loads(as_json([MIXED]))

    assert list(content) == ["format", "safe", "reports", "notAsked"]
    assert (content["format"], content["safe"]) == ("flux-tenancy/isolation/v1", False)
    [found] = content["reports"]
    assert list(found) == [
        "context",
        "server",
        "version",
        "tenant",
        "namespaces",
        "account",
        "live",
        "without",
        "madeAt",
        "safe",
        "attempts",
        "controls",
        "inventory",
    ]
    assert found["attempts"][0] == {
        "id": "20-node-port",
        "threat": 20,
        "name": "name of 20-node-port",
        "verdict": "refused",
        "layer": "admission",
        "by": "flux-tenancy-service-exposure",
        "message": MARKUP,
        "layers": {
            "role": {"state": "open", "by": "", "message": "x"},
            "admission": {"state": "holds", "by": "flux-tenancy-service-exposure", "message": MARKUP},
        },
    }
    assert found["controls"] == [
        {"id": "tenant-pod", "name": "the tenant makes a Pod", "verdict": "passed", "message": ""}
    ]


def overview(*reports: Report) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=100).print(as_table(reports, complete=False))
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


def test_an_overview_has_what_is_open_first_then_one_line_a_threat_and_the_summary_last():
    many = [result(f"{threat}-{of}", Verdict.REFUSED, Layer.ADMISSION) for threat in range(1, 41) for of in "ab"]
    by_role = result("20-role", Verdict.REFUSED, Layer.ROLE)
    long = result("13-long", Verdict.UNPROVEN, Layer.ADMISSION, message=MARKUP * 4)
    one = replace(report(*many, by_role, *MIXED.attempts, long, refused=True), inventory=(FOUND,))

    lines = overview(one, replace(one, tenant="ops-team"))

    text = "\n".join(lines)
    assert len(lines) < 90 and max(map(len, lines)) <= 100
    assert "Isolation of dev-team, ops-team of staging (https://staging.example.com)" in lines[0]
    opened = [text.index(each) for each in ("name of 29-git", "name of 13-git", "the tenant makes a Pod", "restore it")]
    assert opened == sorted(opened) and opened[-1] < text.index("Node ports, load balancers, existing volumes")
    [node_ports] = [line for line in lines if line.startswith(" Node ports")]
    assert node_ports.endswith("role 2, admission 6")
    assert any(line.endswith("admission 4, unproven 4") for line in lines)
    assert " unproven  name of 13-long (dev-team, ops-team)" in lines
    assert text.count("name of 13-git (dev-team, ops-team)") == 1 and "--all" in text
    assert "name of 20-node-port" not in text and "name of 3-image-policy" not in text
    assert " ".join(lines[-2:]).startswith("86 attempts: 82 refused, 1 passed")


def test_in_a_pipe_the_summary_is_one_line_and_no_markup_is_interpreted(capsys):
    show([report(*MIXED.attempts)], None, programs=False, complete=False)
    out = io.StringIO()
    Console(file=out, width=400).print(as_table([MIXED]))

    counts = "4 attempts: 1 refused, 1 passed, 1 n/a, 1 unproven. 1 controls: 1 passed, 0 refused"
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"{counts}, 0 unproven. No inventory: add --stack or --profile, which set the intended state."
    )
    assert counts in out.getvalue() and MARKUP in out.getvalue()


def test_each_tenant_has_its_summary_if_they_differ_and_only_what_is_open_is_listed():
    lines = overview(report(MIXED.attempts[0]), replace(MIXED, tenant="ops-team"))
    text = "\n".join(overview(report(MIXED.attempts[0])))

    assert any(line.startswith("dev-team: 1 attempts: 1 refused") for line in lines)
    assert any(line.startswith("ops-team: 4 attempts: 1 refused") for line in lines)
    assert "verdict" not in text and "tenant makes a Pod" not in text
