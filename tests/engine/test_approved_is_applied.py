"""What a review reads is what Pulumi and Python read, and an approved run applies nothing else: on the real engine."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_project import encrypted, write_project, write_stack

from dev.lab.pulumi import LAB_PASSPHRASE
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.stack.cluster.deletions import OLDER
from flux_tenancy.review.approval.guard import VARIABLE
from flux_tenancy.review.render.stack import render_stack
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.project import Outcome, Project

PROJECT = "flux-tenancy"
STACK = "staging"
FILE = f"Pulumi.{STACK}.yaml"
BASE = {
    "namespaces": [{"name": "apps"}],
    "source": {"url": "https://git.example.com/dev-team/apps"},
    "sync": {"path": "./staging", "interval": "10m"},
}
MODULES = ("yaml", "json", "semver", "pydantic", "pulumi", "google.protobuf", "flux_tenancy", "logging", "simplejson")
# What Pulumi's language host does: the folder of the program comes first.
IMPORTS = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
found = {}
for name in sys.argv[2:]:
    sys.modules.pop(name, None)
    spec = importlib.util.find_spec(name.split(".")[0])
    if "." in name and spec is not None:
        spec = importlib.machinery.PathFinder.find_spec(name, spec.submodule_search_locations)
    found[name] = str(spec and spec.origin)
print(json.dumps(found))
"""

Edit = Callable[[Path], None]


def written(name: str, text: str = "") -> Edit:
    def edit(project: Path) -> None:
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return edit


def merged(file: str, /, **values: Any) -> Edit:
    """Keys of a file, by their paths; those with ... are removed."""

    def edit(project: Path) -> None:
        content = yaml.safe_load((project / file).read_text())
        for path, value in values.items():
            *parents, last = path.split("/")
            place = content
            for parent in parents:
                place = place.setdefault(parent, {})
            if value is ...:
                del place[last]
            else:
                place[last] = value
        (project / file).write_text(yaml.safe_dump(content, sort_keys=False))

    return edit


def shared(**values: Any) -> Edit:
    """Values that `Pulumi.yaml` sets for all stacks, by their paths."""
    return merged("Pulumi.yaml", config={f"{PROJECT}:{path}": {"value": value} for path, value in values.items()})


def in_json(**added: Any) -> Edit:
    """Both files of the project in JSON, with further values of the stack."""

    def edit(project: Path) -> None:
        for name in ("Pulumi", f"Pulumi.{STACK}"):
            content = yaml.safe_load((project / f"{name}.yaml").read_text())
            for path, value in added.items() if "config" in content else ():
                content["config"][f"{PROJECT}:tenants"]["dev-team"][path] = value
            (project / f"{name}.json").write_text(json.dumps(content))

    return edit


C = f"config/{PROJECT}:"
EDITS: dict[str, Edit] = {
    "JSON beside YAML, with one more key": in_json(role="cluster-admin"),
    "JSON beside YAML, with the same": in_json(),
    "a stack in JSON": written(f"Pulumi.{STACK}.json", "{}"),
    **{
        f"a shared {path}": shared(**{path: value})
        for path, value in {
            "tenants.dev-team.role": "cluster-admin",
            'tenants["dev-team"].role': "cluster-admin",
            "tenants.dev-team.sync.path": "./other",
            "tenants": {"other": {}},
            "policies.modes.host-access": "audit",
            "policies.mode": "audit",
            "policies": {"engine": "none"},
            "people.developers": [{"kind": "Group", "name": "all"}],
            "policies.ingress.snippets": True,
            "cluster.context": "other",
            "cluster": {"kubeconfig": "other"},
            "flux.profile": "single-tenant",
            "notifications": {},
        }.items()
    },
    **{
        f"{path} of the stack": merged(FILE, **{f"{C}{path}": value})
        for path, value in {
            "tenants/dev-team/role": "cluster-admin",
            "tenants/dev-team/sync/path": "./other",
            "tenants/dev-team/sync/prune": False,
            "tenants/dev-team": ...,
            "tenants": ...,
            "policies/engine": "none",
            "policies/sources/allowed": ["https://*"],
            "cluster/context": "other",
            "cluster/kubeconfig": "other",
            "cluster/adopt": True,
            "flux/profile": "single-tenant",
            "flux/sha256": "0" * 64,
            "tenancy/limits/quota/pods": "5",
        }.items()
    },
    "a foreign key of the stack": merged(FILE, **{"config/aws:region": "eu-1"}),
    "a key of Pulumi": merged(FILE, **{"config/pulumi:autonaming": {"mode": "verbatim"}}),
    "default providers": merged(FILE, **{"config/pulumi:disable-default-providers": []}),
    "an environment": merged(FILE, environment=["a/b"]),
    "a secrets provider": merged(FILE, secretsprovider="passphrase"),
    "a secret": merged(FILE, **{f"{C}github/token": encrypted("a")}),
    **{
        f"{path} of the tenant": merged("tenants/dev-team.yaml", **{path: value})
        for path, value in {
            "role": "cluster-admin",
            "namespaces": [{"name": "apps"}, {"name": "more"}],
            "source/url": "https://git.example.com/dev-team/other",
            "sync/interval": "5m",
            "sync": ...,
        }.items()
    },
    **{
        f"{key} of the project": merged("Pulumi.yaml", **{key: value})
        for key, value in {
            "main": "other/",
            "backend": {"url": "file://elsewhere"},
            "options": {"refresh": "always"},
            "plugins": {"providers": [{"name": "kubernetes", "path": "bin"}]},
            "packages": {"a": "https://example.com/a"},
            "runtime": {"name": "python", "options": {"virtualenv": "other", "toolchain": "uv"}},
            "requiredPulumiVersion": ">=1",
            "stackConfigDir": "stacks",
            "name": "other",
        }.items()
    },
    **{
        f"a file {name}": written(name, text)
        for name, text in {
            "yaml.py": "",
            "yaml.pyc": "",
            "yaml/__init__.py": "",
            "yaml/__init__.pyc": "",
            "json.py": "",
            "semver.py": "",
            "logging/__init__.py": "",
            "google/protobuf/__init__.py": "",
            "flux_tenancy/__init__.py": "",
            "simplejson.py": "",
            "simplejson/__init__.py": "",
            "__main__.py": "print()\n",
            "__main__.abi3.so": "",
            "requirements.txt": "pulumi==0.0.1\n",
            "Pulumi.json": "{}",
        }.items()
    },
}


@pytest.fixture(scope="module")
def base(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one stack, of which Pulumi knows."""
    project = write_project(tmp_path_factory.mktemp("base") / "project")
    (project / "tenants" / "dev-team.yaml").write_text(yaml.safe_dump(BASE))
    (project / "__main__.py").write_text("import pulumi\n")
    done = pulumi(lab, project, "stack", "init", STACK)
    assert done.returncode == 0, done.stderr
    salt = yaml.safe_load((project / FILE).read_text())["encryptionsalt"]
    write_stack(project, STACK, git=..., policies={"engine": "native"}, tenants={"dev-team": {"sync": {"path": "./a"}}})
    merged(FILE, encryptionsalt=salt)(project)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "add", "."], check=True)
    return project


def pulumi(lab: Lab, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Pulumi with a state of its own, in which no other test has a stack of this name."""
    state = lab.pulumi.folder / "approved-is-applied"
    state.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        **lab.pulumi.on_path(),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": LAB_PASSPHRASE,
    }
    command = [str(lab.pulumi.bin / "pulumi"), *arguments, "--non-interactive"]
    return subprocess.run(command, cwd=project, env=environment, text=True, check=False, capture_output=True)


def given(lab: Lab, project: Path) -> object:
    """What the engine is given for the stack, and where Python finds modules."""
    done = pulumi(lab, project, "config", "--json", "--stack", STACK)
    probe = [sys.executable, "-P", "-c", IMPORTS, str(project), *MODULES]
    found = json.loads(subprocess.run(probe, capture_output=True, text=True, check=True).stdout)
    configuration = json.loads(done.stdout) if done.returncode == 0 else "refused by Pulumi"
    return configuration, {name: "the project" for name, origin in found.items() if str(project) in origin}


def digest(project: Path) -> str:
    """The digest that reviewers approve, or why there is none."""
    try:
        return render_stack(project, STACK).digest
    except ConfigurationError as error:
        return f"refused: {error}"


def copied(base: Path, folder: Path) -> Path:
    subprocess.run(["cp", "-a", str(base), str(folder)], check=True)
    return folder / base.name


@pytest.fixture(scope="module")
def before(lab: Lab, base: Path) -> tuple[object, str]:
    found = digest(base)
    assert found.startswith("sha256:"), found
    return given(lab, base), found


@pytest.mark.parametrize("edit", EDITS)
def test_whatever_changes_what_the_engine_or_python_is_given_changes_the_digest(
    lab: Lab, base: Path, before: tuple[object, str], tmp_path: Path, edit: str
) -> None:
    project = copied(base, tmp_path)

    EDITS[edit](project)

    was_given, approved = before
    assert digest(project) != approved or given(lab, project) == was_given


class Approved(Environment):
    """A stack in a Git repository, from which it is applied, and the digest that was approved."""

    def __init__(self, lab: Lab, project: Project, cluster: Any) -> None:
        super().__init__(lab, project, cluster, flux=lab.bundle(), tenancy={"settleTimeout": "1s"})
        for name in ("dev-team", "ops-team"):
            project.tenant(name, {**BASE, "namespaces": [{"name": name}]})
        self.config["tenants"] = {"dev-team": {}, "ops-team": {}}
        self.write()
        self.git("init", "-q")
        self.commit("first")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", "-C", str(self.project.folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, text: str) -> None:
        self.git("add", "Pulumi.approved.yaml", "tenants")
        self.git("commit", "-q", "--allow-empty", "-m", text)

    @property
    def digest(self) -> str:
        return render_stack(self.project.folder, self.cluster.name).digest

    def preview(self, monkeypatch: pytest.MonkeyPatch, *options: str) -> Outcome:
        monkeypatch.setenv(VARIABLE, self.digest)
        return self.project.run("preview", "--stack", self.cluster.name, *options)


@pytest.fixture(scope="module")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Approved]:
    project = Project(tmp_path_factory.mktemp("approved") / "project", lab.pulumi)
    with lab.cluster("approved") as cluster:
        yield Approved(lab, project, cluster)


@pytest.mark.scenario
class TestApprovedRuns:
    """Before the first update, and then from one update to the next."""

    def test_what_was_approved_is_previewed(self, stack: Approved, monkeypatch: pytest.MonkeyPatch) -> None:
        outcome = stack.preview(monkeypatch)

        assert outcome.succeeded, outcome.text
        assert "as approved" in outcome.text

    @pytest.mark.parametrize(
        ("edit", "code"),
        [
            ("JSON with one more key", "FT-CFG-632"),
            ("a shared role", "FT-REV-50"),
            ("semver.pyc", "FT-CFG-633"),
        ],
    )
    def test_what_came_since_the_approval_is_refused(
        self, stack: Approved, monkeypatch: pytest.MonkeyPatch, edit: str, code: str
    ) -> None:
        folder = stack.project.folder
        approved = stack.digest
        files = set(folder.iterdir())
        project = (folder / "Pulumi.yaml").read_text()
        if edit == "JSON with one more key":
            for name in ("Pulumi", "Pulumi.approved"):
                content = yaml.safe_load((folder / f"{name}.yaml").read_text())
                if "config" in content:
                    content["config"][f"{PROJECT}:tenants"]["dev-team"]["role"] = "cluster-admin"
                (folder / f"{name}.json").write_text(json.dumps(content))
        elif edit == "a shared role":
            (folder / "Pulumi.yaml").unlink()
            values = {f"{PROJECT}:tenants.dev-team.role": {"value": "cluster-admin"}}
            (folder / "Pulumi.yaml").write_text(yaml.safe_dump({**yaml.safe_load(project), "config": values}))
        else:
            # Harmless where it is imported: all that counts is where it was found.
            source = "import sys, importlib\nsys.path.remove(sys.path[0])\ndel sys.modules[__name__]\n"
            (folder / edit).write_text(f"{source}sys.modules[__name__] = importlib.import_module(__name__)\n")
            if edit.endswith("c"):
                (folder / edit).rename(folder / "source.txt")
                py_compile.compile(str(folder / "source.txt"), cfile=str(folder / edit), doraise=True)
        try:
            monkeypatch.setenv(VARIABLE, approved)
            outcome = stack.project.run("preview", "--stack", stack.cluster.name)
        finally:
            for new in set(folder.iterdir()) - files:
                new.unlink()
            (folder / "Pulumi.yaml").unlink(missing_ok=True)
            (folder / "Pulumi.yaml").write_text(project)

        assert not outcome.succeeded
        assert code in outcome.text, outcome.text

    def test_an_option_that_changes_what_is_applied_is_refused(
        self, stack: Approved, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outcome = stack.preview(monkeypatch, "--target", "**Namespace**")

        assert not outcome.succeeded and "FT-REV-506" in outcome.text and "--target" in outcome.text

    def test_the_same_option_in_the_environment_is_refused(
        self, stack: Approved, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PULUMI_OPTION_TARGET", "**Namespace**")

        outcome = stack.preview(monkeypatch)

        assert not outcome.succeeded and "FT-REV-506" in outcome.text

    def test_a_value_that_the_command_adds_is_refused(self, stack: Approved, monkeypatch: pytest.MonkeyPatch) -> None:
        file = stack.project.folder / "Pulumi.approved.yaml"
        text = file.read_text()
        monkeypatch.setenv(VARIABLE, stack.digest)
        try:
            outcome = stack.project.run(
                "preview", "--stack", "approved", "--config-path", "--config", "tenants.dev-team.role=cluster-admin"
            )
        finally:
            file.write_text(text)

        assert not outcome.succeeded
        assert "FT-REV-50" in outcome.text

    def test_the_update_records_the_files_that_it_applied(self, stack: Approved) -> None:
        stack.up()

        applied = stack.outputs()["applied"]
        assert applied["commit"] == stack.git("rev-parse", "HEAD") and "modified" not in applied
        assert stack.changes() == {}
        assert stack.outputs()["applied"] == applied

    @pytest.mark.parametrize(("command", "left"), [("up", {}), ("preview", {"dev-team": {}})])
    def test_a_tenant_that_the_files_lack_is_not_deleted(
        self, stack: Approved, command: str, left: dict[str, Any]
    ) -> None:
        tenants = stack.config["tenants"]
        stack.config["tenants"] = left
        stack.write()
        try:
            refused = stack.project.run(command, *(["--yes"] if command == "up" else []), "--stack", "approved")
        finally:
            stack.config["tenants"] = tenants
            stack.write()

        assert not refused.succeeded and "tenants.ops-team: " in refused.text and "(FT-TEN-112)" in refused.text
        assert ("tenants.dev-team: " in refused.text) is (left == {})
        assert stack.cluster.find("namespace", "ops-team") is not None

    def test_an_older_checkout_is_refused_unless_told_to(
        self, stack: Approved, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stack.config["tenants"]["dev-team"] = {"sync": {"interval": "7m"}}
        stack.write()
        stack.commit("second")
        stack.up()
        stack.git("checkout", "-q", "HEAD~1")

        refused = stack.project.up("approved")
        preview = stack.project.run("preview", "--stack", "approved")
        monkeypatch.setenv(OLDER, "true")
        applied = stack.project.up("approved")
        stack.git("checkout", "-q", "-")

        assert not refused.succeeded and "(FT-CFG-856)" in refused.text
        assert preview.succeeded and "(FT-CFG-856)" in preview.text
        assert applied.succeeded, applied.text
