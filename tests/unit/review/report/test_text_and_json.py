"""The report for a terminal and for programs."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console
from sample_objects import kubernetes
from sample_reports import compared, report, side

from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.terminal import as_text
from flux_tenancy.review.words.statement import Statement


def printed(found):
    file = io.StringIO()
    Console(file=file, width=160, force_terminal=False).print(as_text(found), soft_wrap=True)
    return file.getvalue()


def sample():
    before = side(kubernetes("Role", "a", x=1), kubernetes("Namespace", "apps"), flux={"version": "2.9.4"})
    after = side(kubernetes("Role", "a", x=2), kubernetes("Role", "b"), flux={"version": "2.9.5"})
    return report(replace(compared(before, after), access=(Statement("dev-team", "may do [bold]more", risk=True),)))


def test_the_text_has_everything_in_the_order_of_its_weight():
    text = printed(sample())

    parts = [
        "dev-team may do [bold]more, ",
        "1 deletion needs an acknowledgement",
        "Tenant dev-team on staging needs an acknowledgement",
        "review.acknowledge in Pulumi.staging.yaml",
        "staging: dev-team may do [bold]more",
        "Flux on staging: 2.9.4",
        "https://github.com/fluxcd/flux2/releases/tag/v2.9.5",
        "on staging: 1 object added, 1 changed, 1 removed",
        "    + Role b",
        "    - Namespace apps",
        "    - x: 1\n    + x: 2",
        "flux-tenancy up --stack staging --approved sha256:",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_no_line_of_the_text_ends_with_spaces():
    assert [line for line in printed(sample()).splitlines() if line != line.rstrip()] == []


def test_a_password_in_a_url_is_in_no_form_of_a_report():
    def controller(password):
        env = [{"name": "HTTPS_PROXY", "value": f"http://me:{password}@proxy.example.com"}]
        containers = [{"name": "manager", "args": ["--events-addr=http://me:swordfish@events"], "env": env}]
        return kubernetes("Deployment", "source-controller", spec={"template": {"spec": {"containers": containers}}})

    old, new = "swordfish", "swordfish" * 20
    added = kubernetes("ConfigMap", "added", text=f"see https://{new}@git.example.com")
    found = report(compared(side(controller(old)), side(controller(new), added)))

    for text in (printed(found), as_markdown(found), as_json(found)):
        assert "me:(not shown)@" in text.replace("\\", "")
        assert "swordfish" not in text


def test_text_of_others_does_not_control_the_terminal():
    stack = compared(side(kubernetes("Role", "\x1b[31m")), side(kubernetes("Role", "a", x="\x1b[2J")))
    found = report(replace(stack, access=(Statement("dev-team", "\x1b[5m", risk=True), Statement("a", "\x1b[5m"))))

    assert "\x1b" not in printed(found)


def test_the_json_has_every_change_with_its_fields():
    [stack] = json.loads(as_json(sample()))["stacks"]

    assert {each["object"]: each["action"] for each in stack["changes"]} == {
        "dev-team/cluster/namespace-apps.yaml": "removed",
        "dev-team/cluster/role-a.yaml": "changed",
        "dev-team/cluster/role-b.yaml": "added",
    }
    [changed] = [each for each in stack["changes"] if each["action"] == "changed"]
    assert changed["fields"] == [{"field": "x", "before": 1, "after": 2}]
    assert stack["statements"] == [{"owner": "dev-team", "text": "may do [bold]more", "risk": True, "matters": ""}]
    assert stack["releases"][0]["after"] == {"version": "2.9.5", "sha256": ""}
    assert stack["deletions"][0]["needsAcknowledgement"] is True


def test_the_json_has_no_value_of_a_secret():
    before, after = (kubernetes("Secret", "a", stringData={"a": text}) for text in ("hunter2", "swordfish"))

    text = as_json(report(compared(side(before), side(after))))

    assert "hunter2" not in text and "swordfish" not in text
