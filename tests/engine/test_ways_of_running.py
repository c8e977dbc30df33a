"""Every way in which Pulumi runs the program, in a project with another name, on the real engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.project import Project

NAME = "ways"
TEAMS = ("dev-team", "ops-team", "new-team")
AUTOMATION = """
import sys
from pulumi import automation
stack = automation.select_stack(stack_name=sys.argv[1], work_dir=sys.argv[2])
print(sorted(stack.preview().change_summary), sorted(stack.up().summary.resource_changes))
"""


class Ways(Environment):
    """A stack of two tenants, whose repository nobody has, and what Pulumi says of each way to run it."""

    def run(self, *arguments: str) -> str:
        outcome = self.project.run(*arguments, "--stack", NAME)
        assert outcome.succeeded, outcome.text
        assert "Traceback" not in outcome.text
        return outcome.text

    def interval(self, tenant: str) -> str | None:
        """How often the cluster has a tenant's repository applied; None where it does not know the tenant."""
        found = self.cluster.find("kustomization", tenant, tenant)
        return found["spec"]["interval"] if found else None

    def change(self, interval: str, *tenants: str) -> None:
        for tenant in tenants:
            self.config["tenants"][tenant] = {"sync": {"interval": interval}}
        self.write()

    def made_up(self) -> dict[str, Any]:
        """What the program has made up: the tokens of webhooks, and the names of artifact servers."""
        services = self.cluster.get("services", namespace="flux-system")["items"]
        tokens = {
            team: found["data"]["token"]
            for team in TEAMS
            if (found := self.cluster.find("secret", f"{team}-webhook", team))
        }
        names = [each["metadata"]["name"] for each in services if each["metadata"]["name"].startswith("artifacts-")]
        return {"tokens": tokens, "names": names}


@pytest.fixture(scope="module")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    project = Project(tmp_path_factory.mktemp("ways") / "project", lab.pulumi, "platform")
    for team in TEAMS:
        source = {"url": lab.git.url("nobody", "nothing"), "webhook": {"type": "generic-hmac"}}
        project.tenant(team, {"namespaces": [{"name": team}], "source": source})
    with lab.cluster(NAME) as cluster:
        flux = lab.bundle() | {"webhookUrl": cluster.webhook_url}
        # No sync becomes ready, which is reported; nothing waits for it.
        ways = Ways(lab, project, cluster, flux=flux, github={}, tenancy={"settleTimeout": "1s"})
        ways.change("10m", "dev-team", "ops-team")
        yield ways


@pytest.mark.exhaustive
@pytest.mark.scenario
class TestWaysOfRunning:
    """One after the other; each has done what it says, and leaves nothing for the next update to change."""

    def test_a_fresh_stack_is_applied_with_its_saved_plan(self, stack: Ways, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"

        stack.run("preview", "--save-plan", str(plan))
        stack.run("up", "--yes", "--skip-preview", "--plan", str(plan))

        made_up = stack.made_up()
        assert set(made_up["tokens"]) == {"dev-team", "ops-team"} and len(made_up["names"]) == 1
        assert stack.changes() == {}
        assert stack.made_up() == made_up

    def test_a_changed_stack_is_applied_with_its_saved_plan_whatever_its_syncs_do(
        self, stack: Ways, tmp_path: Path
    ) -> None:
        """Another repository fails for another reason, which the outputs report after the update."""
        plan = tmp_path / "plan.json"
        stack.project.tenant(
            "ops-team",
            {
                "namespaces": [{"name": "ops-team"}],
                "source": {"url": "http://127.0.0.1:1/nothing", "webhook": {"type": "generic-hmac"}},
            },
        )
        made_up = stack.made_up()

        stack.run("preview", "--save-plan", str(plan))
        stack.run("up", "--yes", "--skip-preview", "--plan", str(plan))

        assert stack.cluster.get("gitrepository", "ops-team", "ops-team")["spec"]["url"] == "http://127.0.0.1:1/nothing"
        assert stack.outputs()["tenants"]["ops-team"]["status"]["ready"] != "True"
        assert stack.made_up() == made_up

    @pytest.mark.parametrize(
        "arguments",
        [["refresh", "--yes"], ["refresh", "--yes", "--run-program"], ["up", "--yes", "--skip-preview", "--refresh"]],
    )
    def test_a_refresh_changes_nothing(self, stack: Ways, arguments: list[str]) -> None:
        before, made_up = sorted(stack.project.resources(NAME)), stack.made_up()

        stack.run(*arguments)

        assert sorted(stack.project.resources(NAME)) == before
        assert stack.made_up() == made_up

    def test_one_tenant_is_updated_alone_and_others_stay(self, stack: Ways) -> None:
        """A tenant that is new and not meant does not come, and does not hide how the others are."""
        stack.change("20m", *TEAMS)

        stack.run("up", "--yes", "--skip-preview", "--target", "**Tenant::dev-team", "--target-dependents")

        assert [stack.interval(team) for team in TEAMS] == ["20m", "10m", None]
        told = {team: found["status"] for team, found in stack.outputs()["tenants"].items()}
        assert told["new-team"] == {"ready": "Unknown", "message": "not created yet; the update left it out"}
        assert "unable to clone" in told["dev-team"]["message"]

    def test_all_but_one_tenant_are_updated(self, stack: Ways) -> None:
        excluded = ["--exclude", "**Tenant::new-team", "--exclude-dependents"]

        stack.run("up", "--yes", "--skip-preview", *excluded)

        assert [stack.interval(team) for team in TEAMS] == ["20m", "20m", None]

    def test_pulumis_automation_api_runs_it(self, lab: Lab, stack: Ways) -> None:
        environ = lab.pulumi.environment() | {"PATH": f"{lab.pulumi.bin}:/usr/bin:/bin", "HOME": str(Path.home())}
        done = subprocess.run(
            [sys.executable, "-c", AUTOMATION, NAME, str(stack.project.folder)],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.stdout.split() == ["['create',", "'same']", "['create',", "'same']"], done.stdout + done.stderr
        assert stack.interval("new-team") == "20m"
        assert stack.changes() == {}

    def test_one_tenant_is_destroyed_alone_and_comes_again_whole(self, stack: Ways) -> None:
        before = sorted(stack.project.resources(NAME))

        stack.run("destroy", "--yes", "--skip-preview", "--target", "**Tenant::dev-team", "--target-dependents")

        assert not [name for name in stack.project.resources(NAME) if "dev-team" in name]
        stack.run("up", "--yes", "--skip-preview")
        assert sorted(stack.project.resources(NAME)) == before
        assert stack.cluster.get("rolebinding", "flux-impersonation", "dev-team")

    def test_a_half_deleted_stack_is_destroyed_by_the_program(self, stack: Ways) -> None:
        stack.cluster.kubectl("delete", "namespace", "new-team")
        refused = stack.project.up(NAME)
        assert not refused.succeeded and "(FT-CLU-113)" in refused.text

        stack.run("destroy", "--yes", "--skip-preview", "--run-program")

        assert stack.project.resources(NAME) == []
        assert [stack.cluster.find("namespace", name) for name in (*TEAMS, "flux-system")] == [None] * 4
