"""No tenant is deleted because the files lack it, and older files are not applied by mistake."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi
import pytest
from sample_stack import load

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.deletions import (
    OLDER,
    Applied,
    absent_tenants,
    applied_files,
    older_files,
)
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

FILE = "Pulumi.staging.yaml"
TENANT, CLUSTER = "flux-tenancy:index:Tenant", "flux-tenancy:index:Cluster"


def state(applied: Any = None, **tenants: str) -> State:
    """The state of these tenants, each with an object of a type."""
    found: dict[tuple[str, str], Any] = {(CLUSTER, "cluster"): {"applied": applied} if applied else {}}
    for name, kind in tenants.items():
        found[TENANT, name] = {}
        found[kind, name] = found[NAMESPACE, name] = {"metadata": {"labels": {TENANT_LABEL: name}}}
    return State(found)


ACCOUNT, NAMESPACE = "kubernetes:core/v1:ServiceAccount", "kubernetes:core/v1:Namespace"


@pytest.fixture(autouse=True)
def _update(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program runs for an update; a render in the same process is a preview."""
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)


@pytest.fixture
def config(tmp_path: Path) -> StackConfig:
    return load(tmp_path, tenants={"dev-team": {}})


@pytest.mark.parametrize(
    "kind",
    [
        ACCOUNT,
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization",
        "kubernetes:helm.toolkit.fluxcd.io/v2:HelmRelease",
    ],
)
def test_a_tenant_that_was_not_leaving_is_not_deleted(config, kind):
    [problem] = absent_tenants(config, state(ops=kind), FILE)

    assert (problem.file, problem.path, problem.code) == (FILE, "tenants.ops", "FT-TEN-112")
    assert "`state: leaving`" in problem.message and "newer" in problem.message


def test_every_absent_tenant_is_named_and_one_that_was_leaving_goes(config):
    found = state(ops=ACCOUNT, shop=ACCOUNT, leaver=NAMESPACE)

    assert [each.path for each in absent_tenants(config, found, FILE)] == ["tenants.ops", "tenants.shop"]


def test_tenants_that_stay_and_a_state_that_was_lost_are_no_problem(config):
    assert list(absent_tenants(config, state(**{"dev-team": ACCOUNT}), FILE)) == []
    assert list(absent_tenants(config, State({}), FILE)) == []


def test_a_tenant_that_takes_another_name_keeps_its_namespaces(config):
    before = state(former=ACCOUNT)
    owned = {"metadata": {"labels": {TENANT_LABEL: "former"}}}
    resources = {**before.resources, (NAMESPACE, "apps"): owned}
    del resources[NAMESPACE, "former"]

    assert "apps" in config.tenant_of_namespaces
    assert list(absent_tenants(config, State(resources), FILE)) == []


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def git_outside(folder: Path) -> str:
    return (folder / ".git" / (folder / ".git" / "HEAD").read_text().removeprefix("ref: ").strip()).read_text().strip()


class Clone:
    """A clone with a stack, from which it is applied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = load(folder, tenants={"dev-team": {}})
        git(folder, "init", "-q")
        self.commit("first")

    def commit(self, text: str) -> None:
        (self.folder / FILE).write_text(f"config: {{}} # {text}\n")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-q", "-m", text)

    def apply(self, before: Applied | None = None) -> tuple[Applied, Applied | None]:
        return applied_files(self.config, self.folder, self.folder / FILE, state(before.outputs if before else None))

    def judge(self, before: Applied, **environ: str) -> tuple[list[str], list[str]]:
        now, known = self.apply(before)
        problems, warnings = older_files(now, known, self.folder, FILE, environ)
        return [each.code for each in problems], [each.code for each in warnings]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_state_says_which_files_were_applied_and_when_until_they_change(clone):
    first, _ = clone.apply()
    assert first.commit == git(clone.folder, "rev-parse", "HEAD") and first.date and first.time
    assert not first.modified

    earlier = replace(first, time="2026-01-01T00:00:00+00:00")
    assert clone.apply(earlier) == (earlier, earlier)

    (clone.folder / FILE).write_text("config: {} # changed\n")
    changed, _ = clone.apply(earlier)
    assert changed.modified and changed.time != earlier.time and changed.configuration != first.configuration


def test_newer_files_and_the_same_ones_are_applied(clone):
    first, _ = clone.apply()

    assert clone.judge(first) == ([], [])
    clone.commit("second")
    assert clone.judge(first) == ([], [])


def test_older_files_are_refused_unless_told_to(clone):
    clone.commit("second")
    second, _ = clone.apply()
    git(clone.folder, "checkout", "-q", "HEAD~1")

    assert clone.judge(second) == (["FT-CFG-856"], [])
    assert clone.judge(second, **{OLDER: "true"}) == ([], ["FT-CFG-856"])
    for no in ("", "0", "false", "False"):
        assert clone.judge(second, **{OLDER: no}) == (["FT-CFG-856"], []), no


def test_files_of_another_branch_are_refused_and_a_squashed_one_is_the_same(clone):
    git(clone.folder, "checkout", "-q", "-b", "topic")
    clone.commit("second")
    clone.commit("third")
    topic, _ = clone.apply()
    git(clone.folder, "checkout", "-q", "-")
    clone.commit("elsewhere")

    assert clone.judge(topic) == (["FT-CFG-856"], [])
    clone.commit("third")
    assert clone.judge(topic) == ([], [])
    clone.commit("after the squash")
    assert clone.judge(topic) == ([], [])


def test_older_files_with_the_same_configuration_are_refused(clone):
    (clone.folder / "requirements.txt").write_text("a==2\n")
    git(clone.folder, "add", ".")
    git(clone.folder, "commit", "-q", "-m", "more")
    second, _ = clone.apply()
    git(clone.folder, "checkout", "-q", "HEAD~1")

    assert clone.judge(second) == (["FT-CFG-856"], [])


def test_changes_that_were_applied_and_not_committed_are_told(clone):
    (clone.folder / FILE).write_text("config: {} # by hand\n")
    modified, _ = clone.apply()
    git(clone.folder, "checkout", "-q", ".")

    assert clone.judge(modified) == ([], ["FT-CFG-857"])


def test_settings_and_variables_of_git_do_not_change_what_is_recorded(clone, monkeypatch, tmp_path_factory):
    git(clone.folder, "config", "log.showSignature", "true")
    monkeypatch.setenv("GIT_DIR", str(tmp_path_factory.mktemp("elsewhere")))

    assert clone.apply()[0].commit == git_outside(clone.folder)


def test_a_clone_from_before_the_applied_commit_is_refused(clone, tmp_path_factory):
    old = tmp_path_factory.mktemp("old")
    git(old, "clone", "-q", str(clone.folder), ".")
    clone.commit("second")
    second, _ = clone.apply()
    older = object.__new__(Clone)
    older.folder, older.config = old, clone.config

    assert older.judge(second) == (["FT-CFG-856"], [])


def test_what_a_shallow_clone_cannot_tell_is_said(clone, tmp_path_factory):
    first, _ = clone.apply()
    clone.commit("second")
    shallow = object.__new__(Clone)
    shallow.folder, shallow.config = tmp_path_factory.mktemp("shallow"), clone.config
    git(shallow.folder, "clone", "-q", "--depth=1", f"file://{clone.folder}", ".")

    assert shallow.judge(first) == ([], ["FT-CFG-857"])
    later = Applied("sha256:0", "", first.commit, "2099-01-01T00:00:00+00:00")
    assert shallow.judge(later) == (["FT-CFG-856"], [])


def test_without_git_it_is_said_that_nobody_knows(clone, tmp_path_factory):
    first, _ = clone.apply()
    bare = object.__new__(Clone)
    bare.folder, bare.config = tmp_path_factory.mktemp("bare"), clone.config
    (bare.folder / FILE).write_text("other: 1\n")

    assert bare.judge(first) == ([], ["FT-CFG-857"])


def test_a_state_of_an_earlier_version_is_no_problem(clone):
    now, before = clone.apply()

    assert before is None and older_files(now, before, clone.folder, FILE, {}) == ([], [])
