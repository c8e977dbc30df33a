"""The ways that most people use the product, with their stacks in Pulumi Cloud (its stand-in) and owned by a team."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.pulumi import LabPulumi
from flux_tenancy.command.program import ExitCode
from tests.support.environment import Environment
from tests.support.killing import kill_process
from tests.support.lab import Lab, eventually
from tests.support.project import Project
from tests.support.pulumi_cloud import ORGANIZATION, OTHER_ORGANIZATION, PulumiCloud, running

PROJECT, FIRST, SECOND = "platform", "eu-1", "us-1"
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {text: first}\n"
CREATED = r"^ \+ +\S+ \S.* created( \(|$)"
UP = ("up", "--yes")


def qualified(stack: str, organization: str = ORGANIZATION) -> str:
    return f"{organization}/{PROJECT}/{stack}"


class CloudPulumi(LabPulumi):
    """The lab's Pulumi, logged in to the service as a user on a machine of its own."""

    def __init__(self, lab: Lab, cloud: PulumiCloud, user: str, credentials: Path) -> None:
        super().__init__(lab.settings)
        self._login = {**cloud.environment(user), "PULUMI_CREDENTIALS_PATH": str(credentials)}

    def environment(self) -> dict[str, str]:
        # The service encrypts secrets, too.
        return {**super().environment(), **self._login, "PULUMI_CONFIG_PASSPHRASE_FILE": ""}


class CloudProject(Project):
    """A project whose stacks are the team's: Pulumi finds none of them by its last part alone."""

    def _select(self, name: str) -> None:
        super()._select(qualified(name))

    def _run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        named = [
            qualified(each) if before == "--stack" else each
            for before, each in zip(["", *arguments], arguments, strict=False)
        ]
        return super()._run(named, **options)


class Team:
    """A fleet of two stacks in the service, and its two admins.

    Attributes:
        stacks: both stacks on their clusters, by name.
    """

    def __init__(self, lab: Lab, cloud: PulumiCloud, folder: Path) -> None:
        self.lab, self.cloud = lab, cloud
        self.users = {user: CloudPulumi(lab, cloud, user, folder / user) for user in ("alice", "bob")}
        self.project = CloudProject(folder / "project", self.users["alice"], PROJECT)
        self.stacks: dict[str, Environment] = {}

    def run(self, *arguments: str, stack: str = "", user: str = "alice") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flux_tenancy.command", *arguments]
        named = ["--stack", stack if "/" in stack else qualified(stack)] if stack else []
        return self.users[user].run_beside([*command, *named], self.project.folder)

    def done(self, *arguments: str, stack: str = "") -> str:
        done = self.run(*arguments, stack=stack)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def saved(self, stack: str) -> list[str]:
        """The resources that the service has."""
        state = self.cloud.stacks[ORGANIZATION, PROJECT, stack].state
        return [each["urn"] for each in state.get("resources") or ()]


@pytest.fixture(scope="module")
def team(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("cloud")
    with running() as cloud, lab.cluster(FIRST) as first, lab.cluster(SECOND) as second:
        team = Team(lab, cloud, folder)
        lab.repository("shop", "app", {"one/note.yaml": NOTE}, folder, private=True)
        for cluster in (first, second):
            team.stacks[cluster.name] = Environment(lab, team.project, cluster, flux=lab.bundle())
        wave = {"name": "regions", "stacks": [*map(qualified, team.stacks)]}
        (team.project.folder / "fleet.yaml").write_text(yaml.safe_dump({"waves": [wave]}))
        yield team


@pytest.mark.scenario
class TestPulumiCloud:
    """One way after the other, with the same two stacks."""

    def test_an_error_is_not_blamed_on_the_login(self, team: Team, tmp_path: Path) -> None:
        """On a new machine, Pulumi says on standard error that it logs in, by the variable that errors name, too."""
        team.users["new"] = CloudPulumi(team.lab, team.cloud, "bob", tmp_path / "new")

        refused = team.run("drift", "show", stack=qualified(FIRST, OTHER_ORGANIZATION), user="new")

        assert refused.returncode == ExitCode.FAILED
        assert f"Pulumi has no stack {qualified(FIRST, OTHER_ORGANIZATION)} (FT-OPS-011)" in refused.stderr

    def test_a_killed_update_has_recorded_what_it_did(self, team: Team) -> None:
        """The service has the journal of each operation, whatever PULUMI_SKIP_CHECKPOINTS says."""
        command = [sys.executable, "-m", "flux_tenancy.command", *UP, "--stack", qualified(SECOND)]
        printed = kill_process(team.users["alice"], team.project, command, CREATED, nth=30)

        assert team.cloud.seen["journal_entries"]
        assert len(team.saved(SECOND)) >= 25, printed

    def test_another_user_is_told_what_to_do_about_the_update(self, team: Team) -> None:
        refused = team.run(*UP, stack=SECOND, user="bob")

        assert refused.returncode == ExitCode.FAILED
        assert "Another update is currently in progress" in refused.stdout and "(FT-OPS-315)" in refused.stderr
        assert f"`pulumi cancel --stack {qualified(SECOND)}`" in refused.stderr.splitlines()[-1]
        assert team.project.run("cancel", "--yes", "--stack", SECOND).succeeded

    def test_a_fleet_is_brought_up_and_the_killed_stack_recovers(self, team: Team) -> None:
        before = set(team.saved(SECOND))

        report = json.loads(team.done("fleet", "up", "-o", "json"))

        assert [(each["stack"], each["state"]) for each in report["stacks"]] == [
            (qualified(FIRST), "done"),
            (qualified(SECOND), "done"),
        ]
        assert sorted(path.name for path in (team.project.folder / ".fleet").glob("*.log")) == ["eu-1.log", "us-1.log"]
        assert before < set(team.saved(SECOND))

    def test_a_tenant_is_onboarded_as_approved(self, team: Team) -> None:
        team.done(
            *("tenant", "new", "shop", "--repo", team.lab.git.ssh_url("shop", "app"), "--github", "shop/app"),
            *("--folder", "./one", "--no-preview"),
            stack=FIRST,
        )
        team.done("review", "render", "--out", "render", stack=FIRST)
        approved = team.project.folder / "render" / FIRST / "digest.json"
        refused = team.run(*UP, "--approved", "sha256:" + "0" * 64, stack=FIRST)

        assert "(FT-REV-501)" in refused.stderr
        team.done(*UP, "--approved", str(approved), stack=FIRST)
        eventually(partial(team.stacks[FIRST].cluster.find, "configmap", "note", "shop"))
        assert len(team.lab.git.deploy_keys("shop", "app")) == 1

    def test_drift_is_shown_and_repaired_and_a_key_is_rotated(self, team: Team) -> None:
        """What is missing is for the next update to create; the repair refreshes it in the service's state."""
        cluster = team.stacks[FIRST].cluster
        [before] = team.lab.git.deploy_keys("shop", "app")
        cluster.kubectl("delete", "rolebinding", "flux-impersonation", "-n", "shop")
        cluster.kubectl("label", "namespace", "shop", "pod-security.kubernetes.io/enforce=privileged", "--overwrite")

        assert team.run("drift", "show", "--exit-code", stack=FIRST).returncode == ExitCode.FOUND
        team.done("drift", "repair", stack=FIRST)
        team.done("key", "deploy", "shop", stack=FIRST)
        team.done(*UP, stack=FIRST)

        labels = cluster.get("namespace", "shop")["metadata"]["labels"]
        assert labels.get("pod-security.kubernetes.io/enforce") != "privileged"
        assert cluster.find("rolebinding", "flux-impersonation", "shop")
        assert {each["key"] for each in team.lab.git.deploy_keys("shop", "app")} > {before["key"]}

    def test_tenants_are_listed(self, team: Team) -> None:
        [listed] = json.loads(team.done("tenant", "list", "--no-policies", "-o", "json", stack=FIRST))["stacks"]

        assert {each["tenant"]: each["state"] for each in listed["tenants"]} == {"shop": "ready"}

    def test_a_stack_is_destroyed(self, team: Team) -> None:
        outcome = team.project.destroy(FIRST)

        assert outcome.succeeded, outcome.text
        assert team.saved(FIRST) == []
        assert team.lab.git.deploy_keys("shop", "app") == []
