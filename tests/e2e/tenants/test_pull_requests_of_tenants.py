"""A tenant's developer learns from a pull request what the cluster refuses, in the words of the cluster."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dev.lab.git import Git
from flux_tenancy.review.admission.program import VARIABLE
from tests.e2e.tenants.given_pull_requests import MISTAKES, NAMESPACE, OWNER, REPOSITORY, TENANT, branch
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.project import flux_tenancy
from tests.support.registry import Registry

NAME = "tenants"
ENVELOPES = "envelopes"
ENVELOPE = "envelope.json"


class Walk:
    """What the platform team and a developer of the tenant do.

    Attributes:
        stack: the stack.
        checkout: the developer's clone of the tenant's repository.
    """

    def __init__(self, stack: Environment, lab: Lab, folder: Path) -> None:
        self.stack = stack
        self.checkout = lab.git.clone(OWNER, REPOSITORY, folder / REPOSITORY)
        user = lab.git.gitea.credentials()
        self._git = Git(user.username, user.password)
        self._oras = lab.tools["oras"]
        self._artifact = f"{Registry(lab.git.gitea, OWNER).prefix}/{ENVELOPES}:{NAME}"
        self._login = ("--plain-http", f"--username={user.username}", f"--password={user.password}")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return flux_tenancy(self.stack.project.folder, *arguments)

    def oras(self, command: str, *files: str) -> None:
        """Push files from the platform's project, or pull them into the developer's checkout."""
        folder = self.stack.project.folder if command == "push" else self.checkout
        arguments = [str(self._oras), command, *self._login, self._artifact, *files]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def check(self, *options: str) -> subprocess.CompletedProcess[str]:
        """The command in the job of the pull request."""
        return self.command("check", str(self.checkout), "--envelope", str(self.checkout / ENVELOPE), *options)

    def commit(self, files: dict[str, str], to: str) -> str:
        """Commit these files and push them to a branch; returns the commit."""
        for name, content in files.items():
            (self.checkout / name).parent.mkdir(exist_ok=True)
            (self.checkout / name).write_text(content)
        self._git.run(self.checkout, "add", "--all")
        self._git.run(self.checkout, "commit", "--quiet", "--message=Change the shop")
        return self.merge(to)

    def merge(self, to: str) -> str:
        """Push what is checked out to a branch; returns the commit."""
        self._git.run(self.checkout, "push", "--quiet", "origin", f"HEAD:{to}")
        return self._git.run(self.checkout, "rev-parse", "HEAD")

    def has_applied(self, name: str, commit: str) -> bool:
        found = self.stack.cluster.find("kustomization", name, NAMESPACE) or {}
        attempted = str(found.get("status", {}).get("lastAttemptedRevision"))
        return commit in attempted and self.stack.cluster.ready("kustomization", name, NAMESPACE)[0] == "True"


@pytest.fixture(scope="module")
def walk(stack: Environment, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    programs = {VARIABLE: str(lab.tools["offline-admission"])}
    path = f"{lab.tools['flate'].parent}:{lab.pulumi.bin}:{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**lab.pulumi.environment(), **programs, "PATH": path}.items():
            patch.setenv(name, value)
        yield Walk(stack, lab, tmp_path_factory.mktemp("developer"))


@pytest.mark.scenario
class TestPullRequest:
    def test_the_platform_team_publishes_an_envelope_with_what_is_used(self, walk):
        done = walk.command("tenant", "envelope", TENANT, "--stack", NAME, "--used", "--file", ENVELOPE)
        assert done.returncode == 0, done.stderr

        walk.oras("push", f"{ENVELOPE}:application/json")
        walk.oras("pull")

        used = json.loads((walk.checkout / ENVELOPE).read_text())["used"]
        quotas = walk.stack.cluster.get("resourcequotas", namespace=NAMESPACE)["items"]
        assert used.keys() == {f"{NAMESPACE}/{each['metadata']['name']}" for each in quotas}
        assert used[f"{NAMESPACE}/{TENANT}-objects"]["count/configmaps"] == "1"

    def test_check_says_what_is_refused_and_what_to_write_instead(self, walk):
        walk.commit(branch(mended=False), to="shop")

        done = walk.check("--format", "json")

        assert done.returncode == 1, done.stderr
        found = {each["object"]: each for each in json.loads(done.stdout)["objects"]}
        for each in MISTAKES.values():
            assert found[each.object]["outcome"] == each.outcome
            assert each.words in found[each.object]["message"]
            assert each.instead in found[each.object]["message"]
        refused = {name for name, each in found.items() if each["outcome"] != "accepted"}
        assert refused == {each.object for each in MISTAKES.values()}

    def test_the_cluster_refuses_the_same_objects_in_the_same_words(self, walk):
        walk.merge(to="main")
        walk.stack.cluster.reconcile("gitrepository", TENANT, NAMESPACE)

        for name, each in MISTAKES.items():
            walk.stack.cluster.refusal(each.applied_by, name, NAMESPACE, each.words)
        [shown] = json.loads(walk.command("tenant", "show", TENANT, "--stack", NAME, "-o", "json").stdout)["stacks"]
        told = {each["name"]: each["message"] for each in (*shown["syncs"], *shown["releases"])}
        assert [name for name, each in MISTAKES.items() if each.words not in told.get(name, "")] == []

    def test_what_the_messages_say_is_accepted_and_applied(self, walk):
        commit = walk.commit(branch(mended=True), to="shop")

        done = walk.check()

        assert done.returncode == 0, done.stdout
        walk.merge(to="main")
        walk.stack.cluster.reconcile("gitrepository", TENANT, NAMESPACE)
        for name in ("port", "host", "version"):
            eventually(partial(walk.has_applied, name, commit), what=f"Kustomization {name}")
