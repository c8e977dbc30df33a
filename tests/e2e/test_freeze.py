"""A freeze in a real cluster: it begins and ends without an update, and holds what Flux and people change between."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.tenant.freezes import in_utc
from flux_tenancy.components.vocabulary.manifests import merge_patch
from tests.support.environment import Environment, base, sources
from tests.support.lab import Lab, Loop, RunningCluster, eventually
from tests.support.policy_cases import CLOCK
from tests.support.project import Project

TENANT, OWNER, NAME = "frozen", "frozen", "apps"
ACCOUNT = f"system:serviceaccount:{TENANT}:{TENANT}"
BEFORE, DURING = timedelta(seconds=20), timedelta(seconds=80)
"""Beside updates, which take longer on a busy machine: long enough for Flux to fetch and try a commit."""
LATE_SECONDS = 10.0
"""How late the clock of the policy may be."""


def note(text: str) -> str:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"text": text}}
    return json.dumps(manifest)


@pytest.fixture(scope="module")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder: Path = tmp_path_factory.mktemp("freeze")
    lab.repository(OWNER, NAME, {"apps/note.yaml": note("first")}, folder / "repository", True)
    project = Project(folder / "project", lab.pulumi)
    described = base(lab, f"{OWNER}/{NAME}", TENANT, interval="30s")
    described["sync"] |= {"interval": "30s", "retryInterval": "30s"}
    project.tenant(TENANT, described)
    policies = {"engine": "native", "sources": {"allowed": sources(lab)}}
    with lab.cluster("freeze") as cluster:
        environment = Environment(lab, project, cluster, flux=lab.bundle(), policies=policies)
        environment.onboard(TENANT, "./apps")
        environment.up()
        with Renewing(cluster):
            yield environment


@pytest.fixture(scope="module")
def update(stack: Environment) -> timedelta:
    """How long an update takes on this machine."""
    begin = time.monotonic()
    stack.up()
    return timedelta(seconds=round(time.monotonic() - begin))


class Renewing(Loop):
    """Renews the Lease as the leader of kustomize-controller does: the lab's controllers elect none."""

    pause = 3.0

    def __init__(self, cluster: RunningCluster) -> None:
        super().__init__()
        self._cluster = cluster

    def once(self) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._cluster.apply(merge_patch(CLOCK, {"spec": {"renewTime": now}}))


def test_a_freeze_begins_and_ends_by_itself(stack: Environment, lab: Lab, update: timedelta) -> None:
    eventually(lambda: text(stack) == "first", what="the first commit")
    start = datetime.now(UTC).replace(microsecond=0) + BEFORE + 2 * update
    end = start + DURING + 2 * update
    freeze = {"from": in_utc(start), "to": in_utc(end), "reason": "a sale"}
    stack.config["tenants"][TENANT]["freeze"] = [freeze]
    stack.up()

    assert datetime.now(UTC) < start
    assert refused_deletion(stack) == ""
    wait_until(start)
    assert f"ConfigMap note: changes are frozen until {in_utc(end)}: a sale" in refused_deletion(stack)
    lab.git.commit_files(OWNER, NAME, {"apps/note.yaml": note("second")}, "Change the note")
    stack.cluster.reconcile("gitrepository", TENANT, TENANT)
    refusal = f"changes are frozen until {in_utc(end)}: a sale"
    eventually(lambda: refusal in stack.cluster.ready("kustomization", TENANT, TENANT)[1], what="the refusal")
    assert text(stack) == "first"
    assert shown(stack) == ("frozen", f"until {in_utc(end)}: a sale; a change waits")
    # The platform is not held.
    assert stack.cluster.kubectl("annotate", "configmap", "note", "-n", TENANT, "by=platform").returncode == 0
    preview = stack.project.run("preview", "--stack", stack.cluster.name)
    assert preview.succeeded and f"freeze[0] (a sale) holds the changes of {TENANT} until {in_utc(end)}" in preview.text
    assert datetime.now(UTC) < end

    left = (end - datetime.now(UTC)).seconds
    eventually(lambda: text(stack) == "second", timeout=left + 60, what="the second commit")

    assert datetime.now(UTC) >= end
    assert refused_deletion(stack) == ""
    eventually(lambda: shown(stack) == ("ready", ""), what="the sync")


def wait_until(moment: datetime) -> None:
    time.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()) + LATE_SECONDS)


def refused_deletion(stack: Environment) -> str:
    """What is said to the tenant's account when it deletes an object; nothing is changed."""
    deletion = ("delete", "configmap", "note", "-n", TENANT, "--dry-run=server")
    return stack.cluster.kubectl(*deletion, user=ACCOUNT).stderr


def text(stack: Environment) -> str:
    found = stack.cluster.find("configmap", "note", TENANT)
    return str((found or {}).get("data", {}).get("text"))


def shown(stack: Environment) -> tuple[str, str]:
    """State and message of the tenant in `tenant list`."""
    with contextlib.chdir(stack.project.folder):
        done = CliRunner().invoke(app, ["tenant", "list", "-s", stack.cluster.name, "--no-policies", "-o", "json"])
    [found] = json.loads(done.stdout)["stacks"][0]["tenants"]
    return found["state"], found["message"]
