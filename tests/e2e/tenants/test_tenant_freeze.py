"""A freeze of a tenant in a real cluster: Flux and people are refused until its end, which needs no update."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta

from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.tenant.freezes import in_utc
from tests.e2e.tenants.given_freeze import NAME, OWNER, TENANT, note
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually

FREEZE_SECONDS = 180
"""Long enough for an update, and for Flux to fetch and try a commit."""
ACCOUNT = f"system:serviceaccount:{TENANT}:{TENANT}"


def test_a_freeze_holds_a_commit_and_ends_by_itself(stack: Environment, lab: Lab) -> None:
    eventually(lambda: text(stack) == "first", what="the first commit")
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=FREEZE_SECONDS)
    freeze = {"from": "2026-01-01T00:00:00Z", "to": in_utc(end), "reason": "a sale"}
    stack.config["tenants"][TENANT]["freeze"] = [freeze]
    said = stack.up()

    assert f"tenants.{TENANT}.freeze[0] (a sale) holds the changes of {TENANT} until {in_utc(end)}" in said
    lab.git.commit_files(OWNER, NAME, {"apps/note.yaml": note("second")}, "Change the note")
    eventually(lambda: f"changes are frozen until {in_utc(end)}: a sale" in message(stack), what="the refusal")
    assert text(stack) == "first"
    [shown] = [each for each in listed(stack) if each["tenant"] == TENANT]
    assert (shown["state"], shown["message"]) == ("frozen", f"until {in_utc(end)}: a sale; a change waits")
    # A Pod of the tenant, a reconciliation and the platform go on.
    assert stack.cluster.kubectl("annotate", "configmap", "note", "-n", TENANT, "by=platform").returncode == 0
    deletion = ("delete", "configmap", "note", "-n", TENANT, "--dry-run=server")
    assert "changes are frozen" in stack.cluster.kubectl(*deletion, user=ACCOUNT).stderr
    assert datetime.now(UTC) < end

    eventually(lambda: text(stack) == "second", timeout=FREEZE_SECONDS + 90, what="the second commit")

    assert datetime.now(UTC) >= end
    assert stack.cluster.kubectl(*deletion, user=ACCOUNT).returncode == 0
    eventually(lambda: stack.cluster.ready("kustomization", TENANT, TENANT)[0] == "True", what="the sync")


def text(stack: Environment) -> str:
    found = stack.cluster.find("configmap", "note", TENANT)
    return str((found or {}).get("data", {}).get("text"))


def message(stack: Environment) -> str:
    return str(stack.cluster.ready("kustomization", TENANT, TENANT))


def listed(stack: Environment) -> list[dict[str, object]]:
    with contextlib.chdir(stack.project.folder):
        done = CliRunner().invoke(app, ["tenant", "list", "-s", stack.cluster.name, "--no-policies", "-o", "json"])
    found: list[dict[str, object]] = json.loads(done.stdout)["stacks"][0]["tenants"]
    return found
