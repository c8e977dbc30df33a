"""A tenant's whole life by `flux-tenancy tenant`: it comes, moves, takes another name and leaves, by one update."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml

from flux_tenancy.components.keys.age_keys import generate
from tests.e2e.tenants.given_delegation import NAMESPACE as STAYING_TEAM
from tests.e2e.tenants.given_delegation import TEAM as STAYING
from tests.e2e.tenants.given_delegation import TENANT as DELEGATING
from tests.e2e.tenants.given_delegation import team_binding
from tests.e2e.tenants.given_life import BROKEN, COMING, LEAVING, MOVING, OWNER, RENAMED, RENAMED_TO, TEAM
from tests.support.environment import Environment
from tests.support.isolation import assert_safe, run_stack
from tests.support.lab import Lab, eventually
from tests.support.project import flux_tenancy

NAME = "tenants"
TEAMS = ((TEAM, TEAM), (STAYING, STAYING_TEAM))
"""Each team, by the names of its account and of its namespace."""


class Life:
    """The commands in the stack's project.

    Attributes:
        stack: the stack.
        uids: the objects before the update, by namespace and name.
        backup: folder of the backup.
        identity: who can decrypt it.
    """

    def __init__(self, stack: Environment) -> None:
        self.stack = stack
        self.uids: dict[tuple[str, str], str] = {}
        self.backup = Path()
        self.identity = generate()

    @property
    def file(self) -> Path:
        return self.stack.project.folder / f"Pulumi.{NAME}.yaml"

    def run(self, *arguments: str) -> str:
        done = flux_tenancy(self.stack.project.folder, "tenant", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def change(self, *arguments: str) -> list[str]:
        """The lines of the stack's file that a command adds or removes."""
        before = self.file.read_text().splitlines()
        self.run(*arguments, "--stack", NAME, "--no-preview")
        after = self.file.read_text()
        # What the next update applies.
        self.stack.config["tenants"] = yaml.safe_load(after)["config"]["flux-tenancy:tenants"]
        return [f"{line[0]}{line[2:].strip()}" for line in difflib.ndiff(before, after.splitlines()) if line[0] in "-+"]

    def remember(self, namespace: str, *names: str) -> None:
        for name in names:
            found = self.stack.cluster.get("configmap", name, namespace)
            self.uids[namespace, name] = found["metadata"]["uid"]

    def is_same(self, namespace: str, name: str) -> bool:
        found = self.stack.cluster.get("configmap", name, namespace)
        return bool(found["metadata"]["uid"] == self.uids[namespace, name])

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        done = self.stack.cluster.kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def life(stack: Environment, lab: Lab) -> Iterator[Life]:
    environ = {**lab.pulumi.environment(), "PATH": f"{lab.pulumi.bin}:{os.environ['PATH']}"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        stack.write()
        yield Life(stack)


@pytest.mark.scenario
class TestLife:
    def test_a_new_tenant_is_files_and_a_preview(self, life, lab):
        url = lab.git.ssh_url(OWNER, COMING)
        before = self.entries(life)

        place = ("--repo", url, "--github", f"{OWNER}/{COMING}", "--folder", "./one")
        shown = life.run("new", COMING, *place, "--stack", NAME)

        assert f"Listed tenant {COMING} in Pulumi.{NAME}.yaml, with a new ssh-ed25519 key" in shown
        assert f"{COMING}/{COMING}" in shown and "GitRepository" in shown
        after = self.entries(life)
        assert {name: after[name] for name in before} == before
        assert after[COMING]["source"]["deployKey"]["secure"].startswith("v1:")
        life.stack.config["tenants"] = after

    def entries(self, life: Life) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(life.file.read_text())["config"]["flux-tenancy:tenants"]
        return found

    def test_a_tenant_moves_to_another_folder(self, life):
        eventually(lambda: life.stack.cluster.find("configmap", "only-in-one", MOVING))
        life.remember(MOVING, "both", "only-in-one")

        # In one update: Flux prunes what the new folder does not have.
        life.stack.config["tenants"][MOVING]["sync"] |= {"path": "./two", "prune": False}
        life.stack.write()

    def test_a_tenant_takes_another_name(self, life):
        eventually(lambda: life.stack.cluster.find("configmap", "both", RENAMED))
        life.remember(RENAMED, "both", "only-in-one")
        folder = life.stack.project.folder / "tenants"
        (folder / f"{RENAMED}.yaml").rename(folder / f"{RENAMED_TO}.yaml")
        life.stack.onboard(RENAMED_TO, "./one")
        del life.stack.config["tenants"][RENAMED]
        life.stack.write()
        # Otherwise the namespace would be that of another tenant.
        life.kubectl("label", "namespace", RENAMED, "--overwrite", f"toolkit.fluxcd.io/tenant={RENAMED_TO}")

    def test_a_tenant_with_nothing_in_order_is_backed_up_and_taken_out(self, life):
        eventually(lambda: life.stack.cluster.find("configmap", "both", BROKEN))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "by-hand", "namespace": BROKEN}}
        life.stack.cluster.apply({**secret, "stringData": {"password": "pa55word"}})
        gone = "ssh://git@127.0.0.1:1/gone.git"
        patches = {"gitrepository": {"url": gone}, "kustomization": {"path": "./gone", "timeout": "5s"}}
        for kind, spec in patches.items():
            life.kubectl("patch", kind, BROKEN, "-n", BROKEN, "--type=merge", "-p", json.dumps({"spec": spec}))
        life.kubectl("delete", "serviceaccount", BROKEN, "-n", BROKEN)

        first = life.change("offboard", BROKEN, "--age", life.identity.recipient)
        folder = life.stack.project.folder
        refused = flux_tenancy(folder, "tenant", "offboard", BROKEN, "--stack", NAME, "--no-preview")
        life.stack.up()
        last = life.change("offboard", BROKEN, "--no-backup")

        assert first == ["+state: leaving"]
        assert (refused.returncode, refused.stdout) == (2, "") and "(FT-OPS-318)" in refused.stderr
        assert last[0] == f"-{BROKEN}:" and not [line for line in last if line.startswith("+")]
        [life.backup] = (folder / ".backup" / NAME / BROKEN).iterdir()

    def test_a_tenant_with_a_team_leaves(self, life):
        for team, namespace, tenant_ in ((TEAM, TEAM, LEAVING), (STAYING, STAYING_TEAM, DELEGATING)):
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": team, "namespace": namespace}}
            for manifest in (account, team_binding(team, namespace)):
                arguments = ("apply", "--server-side", "-f", "-")
                user = f"system:serviceaccount:{tenant_}:{tenant_}"
                done = life.stack.cluster.kubectl(*arguments, user=user, stdin=json.dumps(manifest))
                assert done.returncode == 0, done.stderr
        assert [self.may(life, *each) for each in TEAMS] == ["yes", "yes"]

        assert life.change("offboard", LEAVING, "--no-backup") == ["+state: leaving"]

    def may(self, life: Life, team: str, namespace: str) -> str:
        """Whether a team may write in its namespace."""
        asked = ("auth", "can-i", "create", "configmaps", "-n", namespace)
        answer = life.stack.cluster.kubectl(*asked, user=f"system:serviceaccount:{namespace}:{team}").stdout
        return answer.split()[0]

    def test_one_update_does_all_of_it(self, life):
        life.stack.up()

        assert life.stack.cluster.find("namespace", BROKEN) is None
        eventually(lambda: life.stack.cluster.find("configmap", "both", COMING), what="the new tenant")

    def test_a_team_loses_its_access_with_its_tenant_and_no_other_team_does(self, life):
        cluster = life.stack.cluster

        eventually(lambda: cluster.find("rolebinding", TEAM, TEAM) is None, what="the end of the team's access")
        assert cluster.find("namespace", TEAM) is not None
        assert [self.may(life, *each) for each in TEAMS] == ["no", "yes"]
        assert cluster.find("rolebinding", STAYING, STAYING_TEAM) is not None

    def test_the_inventory_of_a_tenant_that_leaves_needs_no_account(self, life):
        [found] = run_stack(life.stack.project, NAME, "--tenant", LEAVING)

        assert_safe(found)
        assert (found.report["account"], found.report["attempts"]) == ("", [])
        assert set(found.report["namespaces"]) == {LEAVING, TEAM}

    def test_what_is_in_both_folders_stays_as_it_is_and_the_rest_keeps_running(self, life):
        cluster = life.stack.cluster
        eventually(lambda: cluster.get("configmap", "both", MOVING)["data"]["value"] == "two", what="the new folder")
        assert life.is_same(MOVING, "both") and life.is_same(MOVING, "only-in-one")
        eventually(lambda: cluster.ready("kustomization", MOVING, MOVING)[0] == "True")

        # Nor does Flux prune it later: only the new folder's objects are in the inventory.
        inventory = cluster.get("kustomization", MOVING, MOVING)["status"]["inventory"]["entries"]
        assert [each["id"] for each in inventory] == [f"{MOVING}_both__ConfigMap"]

    def test_a_tenants_objects_outlive_its_name(self, life):
        cluster = life.stack.cluster
        eventually(lambda: cluster.ready("kustomization", RENAMED_TO, RENAMED)[0] == "True")

        owner = cluster.get("configmap", "both", RENAMED)["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"]
        assert owner == RENAMED_TO and cluster.find("kustomization", RENAMED, RENAMED) is None
        assert life.is_same(RENAMED, "both") and life.is_same(RENAMED, "only-in-one")

    def test_kubectl_restores_a_backup(self, life):
        sealed = (life.backup / BROKEN / "secrets.yaml.age").read_bytes()
        assert "pa55word" not in "".join(path.read_text() for path in life.backup.rglob("*") if path.is_file())
        life.kubectl("create", "namespace", BROKEN)

        life.kubectl("apply", "-R", "-f", str(life.backup))
        key = pyrage.x25519.Identity.from_str(life.identity.private)
        life.kubectl("apply", "-f", "-", stdin=pyrage.decrypt(sealed, [key]).decode())

        assert life.stack.cluster.get("configmap", "both", BROKEN)["data"] == {"value": "one"}
        assert life.stack.cluster.find("secret", "by-hand", BROKEN) is not None
        life.kubectl("delete", "namespace", BROKEN, "--wait=false")

    def test_the_overview_shows_them_all(self, life):
        eventually(lambda: life.stack.cluster.ready("kustomization", COMING, COMING)[0] == "True")

        [stack] = json.loads(life.run("list", "--stack", NAME, "--output", "json"))["stacks"]

        found = {each["tenant"]: each for each in stack["tenants"]}
        assert (stack["error"], stack["violationsError"]) == ("", "")
        assert {found[name]["state"] for name in (MOVING, RENAMED_TO, COMING)} == {"ready"}
        assert BROKEN not in found and RENAMED not in found
        assert found[COMING]["revision"].startswith("main@sha1:") and found[COMING]["changed"]
        assert found[COMING]["quota"]["percent"] > 0 and found[COMING]["violations"] == 0

    def test_a_tenant_is_shown_in_detail(self, life):
        [shown] = json.loads(life.run("show", COMING, "--stack", NAME, "--output", "json"))["stacks"]

        assert (shown["state"], shown["error"], shown["next"]) == ("ready", "", [])
        assert [each["state"] for each in (*shown["sources"], *shown["syncs"])] == ["ready", "ready"]
        assert shown["sources"][0]["since"] <= shown["syncs"][0]["since"]
        assert COMING in shown["namespaces"] and shown["quotas"]
