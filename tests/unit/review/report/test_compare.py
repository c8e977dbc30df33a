"""Stacks of a clone compared with the merge base, each version rendered by its own program."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from sample_objects import kubernetes, render_of
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

import flux_tenancy.review.report.comparison
from flux_tenancy.command.app import app
from flux_tenancy.command.review import address_of_run
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.cluster.deletions import ABSENT_TENANT
from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review import versions
from flux_tenancy.review.admission.program import Answer, Objection
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.report.comparison import compare, refusals_of
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.phrases import remarks
from flux_tenancy.review.rules.stacks import JudgedStack
from flux_tenancy.review.rules.table import RuleSetting
from flux_tenancy.review.versions import merge_base, render_stacks, run_git
from flux_tenancy.version import VERSION

ERRORS = "class ConfigurationError(Exception):\n    problems = ()\n"
OWN_PROGRAM = """\
from types import SimpleNamespace

def render_stack(project, stack):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": (project / "name").read_text()}}
    object = {"owner": "platform", "type": "kubernetes:v1:ConfigMap", "resource": "own", "manifest": manifest}
    return SimpleNamespace(objects=[SimpleNamespace(**object, protected=False)], facts=None)
"""


class Clone:
    """A clone with the branch `main` and a working tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_project(folder)
        (folder / ".gitignore").write_text("install.yaml\n.lab/\n__pycache__/\n")
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        command = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            self.write(name.replace("__", "/"), text)
        self.git("add", ".")
        self.git("commit", "-qm", "x", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def stack(self, stack: str = "staging", *tenants: str, interval: str = "10m") -> None:
        for name in tenants:
            (self.folder / "tenants" / f"{name}.yaml").touch()
        entries = {name: tenant(name, name) | {"sync": {"path": ".", "interval": interval}} for name in tenants}
        write_stack(self.folder, stack, tenants=entries)

    def own_program(self, render: str = OWN_PROGRAM) -> None:
        self.write("flux_tenancy/__init__.py", "")
        self.write("flux_tenancy/components/config/errors.py", ERRORS)
        self.write("flux_tenancy/review/render/stack.py", render)
        self.write("name", "earlier")


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "project")


@pytest.fixture
def rendered(monkeypatch):
    """Stacks of the working tree render to nothing, at once."""

    def read(_: Path, stacks: Iterable[str]) -> tuple[dict[str, JudgedStack], list[Problem]]:
        return {stack: JudgedStack(Render.of(stack, ()), RuleSetting()) for stack in stacks}, []

    monkeypatch.setattr(flux_tenancy.review.report.comparison, "read_stacks", read)


def test_what_will_soon_stop_updates_is_told_though_nothing_changes(clone, rendered, monkeypatch):
    clone.stack("production")
    clone.stack("staging")
    clone.own_program()
    clone.commit()
    warned = partial(JudgedStack, Render.of("any", ()), RuleSetting())
    read = {stack: warned((Message("", "tenant a: grants[0] expires"),)) for stack in ("production", "staging")}
    monkeypatch.setattr(flux_tenancy.review.report.comparison, "read_stacks", lambda *_: (read, []))

    report = compare(clone.folder, "main")

    assert "production and staging: tenant a: grants[0] expires" in remarks(report)
    assert [each["warnings"] for each in json.loads(as_json(report))["stacks"]] == [["tenant a: grants[0] expires"]] * 2


def names(changes):
    return [f"{each.action} {each.object.kind} {each.object.name}" for each in changes]


def test_the_working_tree_is_compared_with_the_merge_base(clone):
    """Today's program renders the base, since the clone has none; what is pinned and ignored by Git is at hand."""
    clone.stack("staging", "dev-team")
    base = clone.commit()
    clone.git("checkout", "-qb", "change")
    clone.git("checkout", "-q", "main")
    clone.stack("staging", "dev-team", "later")
    clone.commit()
    clone.git("checkout", "-q", "change")
    clone.stack("staging", "dev-team", interval="5m")

    report = compare(clone.folder, "main")

    [stack] = report.stacks
    assert report.commit == base
    assert names(stack.changes) == ["changed Kustomization dev-team"]
    assert [field.name for field in stack.changes[0].fields] == ["spec.interval"]
    assert [(each.file, each.field.name, each.field.before) for each in stack.keys] == [
        ("Pulumi.staging.yaml", "tenants.dev-team.sync.interval", "10m")
    ]
    assert stack.facts == ()
    assert stack.note == "the program of the merge base cannot render; the current program rendered it"
    assert not (clone.folder / ".git" / "worktrees").exists()


def test_the_merge_base_is_rendered_by_its_own_program(clone, rendered):
    clone.stack()
    clone.own_program()
    clone.commit()
    clone.write("name", "later")

    [stack] = compare(clone.folder, "main").stacks

    assert names(stack.changes) == ["removed ConfigMap earlier"]
    assert stack.note == ""


@pytest.mark.parametrize(
    ("facts", "said"),
    [('facts={"packages": {"pulumi": "==1"}}', ["the program differs: pulumi 1 -> 2"]), ("facts=5", [])],
)
def test_the_program_of_the_merge_base_records_what_else_decided(clone, monkeypatch, facts, said):
    after = Render.of("staging", (), facts={"packages": {"pulumi": "==2"}})
    read = {"staging": JudgedStack(after, RuleSetting())}
    monkeypatch.setattr(flux_tenancy.review.report.comparison, "read_stacks", lambda *_: (read, []))
    clone.stack()
    clone.own_program(OWN_PROGRAM.replace("facts=None", facts))
    clone.commit()

    report = compare(clone.folder, "main")

    assert [each.sentence for section in report.sections for group in section.groups for each in group.said] == said


@pytest.mark.parametrize("pinned", [True, False])
def test_only_a_pinned_program_that_runs_already_is_not_loaded_again_for_the_merge_base(
    clone, rendered, monkeypatch, pinned
):
    class Fork:
        """Renders in this process."""

        def __init__(self, errors: Path, *arguments: str) -> None:
            forked.append(arguments[1])
            self.arguments = arguments

        def wait(self) -> int:
            render_stacks(*self.arguments)
            return 0

        def kill(self) -> None: ...

    forked: list[str] = []
    monkeypatch.setattr(versions, "_Fork", Fork)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(sys, "path", [*sys.path])
    clone.stack("staging", "dev-team")
    if pinned:
        clone.write("requirements.txt", f"flux-tenancy=={VERSION}")
    else:
        # The repository of the program, whose folders for maintainers are code of the project to any other program.
        clone.own_program()
    clone.commit()

    [stack] = compare(clone.folder, "main").stacks

    # What is loaded is the program of this test, which renders the stack itself.
    assert bool(forked) is pinned
    assert ("removed ConfigMap earlier" in names(stack.changes)) is not pinned
    assert stack.note == ""


def test_today_renders_where_the_program_of_the_merge_base_fails(clone, rendered):
    clone.stack()
    clone.own_program(render="raise SystemExit('out of\\norder')")
    clone.commit()

    [stack] = compare(clone.folder, "main").stacks

    assert stack.note == "the program of the merge base failed (order); the current program rendered it"
    assert stack.is_compared


def wheel(folder: Path, version: str, render: str = OWN_PROGRAM) -> None:
    """A wheel of the program in some version, which renders as told."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"flux_tenancy-{version}"
    files = {
        "flux_tenancy/__init__.py": "",
        "flux_tenancy/components/config/errors.py": ERRORS,
        "flux_tenancy/review/render/stack.py": render,
        f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: flux-tenancy\nVersion: {version}\n",
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def test_an_upgrade_shows_what_the_earlier_version_has_applied(clone, monkeypatch, tmp_path):
    """The most dangerous pull request is one line of requirements."""
    monkeypatch.setenv("FLUX_TENANCY_CACHE", str(tmp_path / "cache"))
    wheel(clone.folder / "wheels", "0.0.9")
    clone.write("name", "earlier")
    clone.write("requirements.txt", "--no-index\n--find-links wheels\nflux-tenancy==0.0.9\n")
    clone.stack("staging", "dev-team")
    clone.commit()
    clone.git("checkout", "-qb", "upgrade")
    clone.write("requirements.txt", f"--no-index\n--find-links wheels\nflux-tenancy=={VERSION}\n")

    for _ in range(2):  # installed, and from the cache
        [stack] = compare(clone.folder, "main").stacks

        assert "removed ConfigMap earlier" in names(stack.changes)
        assert "added Kustomization dev-team" in names(stack.changes)
        assert stack.note == ""
    assert len(list((tmp_path / "cache" / "programs").iterdir())) == 2  # an environment and its name


def test_a_version_that_cannot_be_installed_is_rendered_by_this_one_and_a_note_says_so(
    clone, rendered, monkeypatch, tmp_path
):
    monkeypatch.setenv("FLUX_TENANCY_CACHE", str(tmp_path / "cache"))
    clone.stack()
    clone.write("requirements.txt", "--no-index\nflux-tenancy==0.0.9\n")
    clone.commit()

    [stack] = compare(clone.folder, "main").stacks

    assert stack.is_compared
    assert "pins flux-tenancy 0.0.9, which cannot be installed (" in stack.note and "0.0.9" in stack.note
    assert not list((tmp_path / "cache" / "programs").iterdir())


def test_the_same_version_is_rendered_by_this_program(clone, rendered):
    clone.stack()
    clone.write("requirements.txt", f"# The program.\nflux-tenancy=={VERSION}\n")
    clone.commit()

    [stack] = compare(clone.folder, "main").stacks

    assert stack.is_compared and stack.note == ""


def test_a_merge_base_with_errors_cannot_be_compared(clone, rendered):
    clone.commit(**{"Pulumi.staging.yaml": "config: {flux-tenancy:unknown: 1}"})
    clone.write("Pulumi.staging.yaml", "config: {flux-tenancy:unknown: 2}")

    [stack] = compare(clone.folder, "main").stacks

    assert not stack.is_compared
    assert stack.note.startswith("the merge base cannot be rendered: Pulumi.staging.yaml: ")
    assert stack.digest.startswith("sha256:")
    assert [(each.field.name, each.field.before, each.field.after) for each in stack.keys] == [("unknown", 1, 2)]


def test_new_stacks_and_those_that_are_gone_are_told(clone, rendered):
    clone.stack("gone")
    clone.own_program()
    clone.commit()
    (clone.folder / "Pulumi.gone.yaml").unlink()
    clone.stack("new")

    gone, new = compare(clone.folder, "main").stacks

    assert (gone.stack, gone.is_gone, new.stack, new.is_new) == ("gone", True, "new", True)


def test_a_new_stack_for_the_cluster_of_another_is_a_risk(clone):
    clone.stack("production", "dev-team")
    clone.commit()
    clone.stack("new", "dev-team")

    report = compare(clone.folder, "main")

    assert report.risks[0].sentence.startswith("the platform is for the cluster of production, too")


@pytest.mark.parametrize(
    "tenants", [{}, ..., {"ops-team": tenant("ops-team", "ops-team")}], ids=["none", "unset", "one"]
)
def test_a_missing_tenant_is_told_with_the_words_of_the_update(clone, tenants):
    clone.stack("staging", "dev-team", "ops-team")
    clone.commit()
    write_stack(clone.folder, tenants=tenants)
    (clone.folder / "tenants" / "dev-team.yaml").unlink()

    report = compare(clone.folder, "main")

    missing = {"dev-team"} if tenants not in ({}, ...) else {"dev-team", "ops-team"}
    assert report.absent == missing
    assert "missing (the update is refused)" in report.headline
    assert [risk.sentence for risk in report.risks][: len(missing)] == [
        f"tenants.{name} {ABSENT_TENANT()}" for name in sorted(missing)
    ]
    assert report.missing_acknowledgements == ()


def test_one_stack_is_compared_on_its_own(clone, rendered):
    clone.stack("one")
    clone.stack("other")
    clone.own_program()
    clone.commit()

    project = read_project_file(clone.folder).name
    for name in ("one", "acme/one", f"acme/{project}/one"):
        assert [each.stack for each in compare(clone.folder, "main", [name]).stacks] == ["one"]


def test_an_unknown_stack_is_refused_with_the_names_of_those_that_exist(clone):
    clone.stack("one")
    clone.commit()

    with pytest.raises(OperationError, match="no Pulumi.two.yaml.*--stack`: one"):
        compare(clone.folder, "main", ["one", "two"])


def test_a_project_without_stacks_is_refused(clone):
    clone.commit()

    with pytest.raises(OperationError, match="no stacks"):
        compare(clone.folder, "main")


def test_every_problem_of_the_working_tree_is_told(clone):
    clone.commit()
    for stack in ("one", "two"):
        clone.write(f"Pulumi.{stack}.yaml", "config: {flux-tenancy:unknown: 1}")

    with pytest.raises(ConfigurationError) as refused:
        compare(clone.folder, "main")

    assert {problem.file for problem in refused.value.problems} == {"Pulumi.one.yaml", "Pulumi.two.yaml"}


def test_the_merge_base_has_what_git_had_and_links_to_what_git_ignores(clone):
    clone.write(".lab/known_hosts", "host")
    commit = clone.commit(tracked="before", components__tracked="")
    clone.write("tracked", "after")
    clone.write("untracked", "new")
    clone.write("components/__pycache__/x.pyc", "")

    with merge_base(clone.folder, "main") as tree:
        assert (tree.commit, (tree.folder / "tracked").read_text()) == (commit, "before")
        assert (tree.folder / ".lab" / "known_hosts").read_text() == "host"
        assert not (tree.folder / "untracked").exists()
        # A render asks which files are the repository's.
        listed = run_git(tree.folder, "ls-files").stdout.decode().split()
        assert listed == [".gitignore", "Pulumi.yaml", "components/tracked", "tracked"]
        assert not (tree.folder / "components" / "__pycache__").exists()

    assert not tree.folder.exists()
    assert (clone.folder / ".lab" / "known_hosts").read_text() == "host"


def test_the_merge_base_has_each_file_as_git_had_it_whatever_is_ignored_or_exported_now(clone):
    clone.stack("staging", "dev-team")
    (clone.folder / "link").symlink_to("/elsewhere")
    clone.write(".gitattributes", "Pulumi.staging.yaml export-subst\ntenants/gone.yaml export-ignore\n")
    clone.write("tenants/gone.yaml", "role: admin\n")
    clone.write("note", "$Format:%H$\n")
    clone.commit(generated="before")
    clone.write(".gitignore", "generated\n")
    clone.git("rm", "-q", "--cached", "generated")
    clone.write("generated", "after")

    with merge_base(clone.folder, "main") as tree:
        assert (tree.folder / "link").readlink() == Path("/elsewhere")
        assert (tree.folder / "generated").read_text() == "before"
        for name in ("Pulumi.staging.yaml", "tenants/gone.yaml", "note"):
            assert (tree.folder / name).read_text() == (clone.folder / name).read_text()


def test_a_project_in_a_folder_of_a_repository_is_compared(clone):
    clone.commit(platform__file="before")

    with merge_base(clone.folder / "platform", "main") as tree:
        assert (tree.folder / "file").read_text() == "before"
        assert run_git(tree.folder, "ls-files").stdout == b"file\n"


def test_a_folder_that_git_does_not_have_is_refused(clone):
    clone.commit(file="x")
    (clone.folder / "new").mkdir()

    with pytest.raises(OperationError, match="does not have"), merge_base(clone.folder / "new", "main"):
        pass


@pytest.mark.parametrize("base", ["unknown", "--help", "main:file", ""])
def test_an_unknown_base_is_refused(clone, base):
    clone.commit(file="x")

    with pytest.raises(OperationError, match="this clone has no commit"), merge_base(clone.folder, base):
        pass


def test_a_base_without_common_history_is_refused(clone):
    clone.commit()
    clone.git("checkout", "-q", "--orphan", "other")
    clone.commit(file="x")

    with pytest.raises(OperationError, match="no common history"), merge_base(clone.folder, "main"):
        pass


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(OperationError, match="not in a Git repository"), merge_base(tmp_path, "main"):
        pass


def test_a_machine_without_git_is_told_so(clone, monkeypatch):
    clone.commit()
    monkeypatch.setenv("PATH", "")

    with pytest.raises(OperationError, match="git is not on PATH"), merge_base(clone.folder, "main"):
        pass


class TestCommand:
    @pytest.fixture
    def run(self, monkeypatch, clone, rendered):
        """Runs the command in a clone whose working tree deletes what its base has."""
        clone.stack()
        clone.own_program(OWN_PROGRAM.replace("ConfigMap", "Namespace"))
        clone.commit()
        monkeypatch.chdir(clone.folder)
        return lambda *arguments: CliRunner().invoke(app, ["review", "diff", *arguments])

    def test_a_missing_acknowledgement_exits_with_1(self, run):
        result = run()

        assert result.exit_code == 1
        assert "Platform on staging needs an acknowledgement" in result.output

    def test_a_missing_tenant_exits_with_1(self, run, clone):
        labels = {TENANT_LABEL: "shop"}
        manifest = {"metadata": {"name": "shop", "labels": labels}}
        objects = ", ".join(
            f"SimpleNamespace(owner='shop', type='kubernetes:v1:{kind}', resource='shop', protected=False, "
            f"manifest={manifest | {'kind': kind}})"
            for kind in ("Namespace", "ServiceAccount")
        )
        clone.own_program(OWN_PROGRAM.replace("[SimpleNamespace(**object, protected=False)]", f"[{objects}]"))
        clone.commit()

        result = run()

        assert result.exit_code == 1
        assert result.output.startswith("1 tenant missing (the update is refused)")
        assert "acknowledge" not in result.output

    def test_the_whole_report_is_appended_to_a_summary(self, run, tmp_path, monkeypatch):
        for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "o/r"), ("RUN_ID", "7")):
            monkeypatch.setenv(f"GITHUB_{name}", value)
        summary = tmp_path / "summary.md"
        summary.write_text("earlier\n")

        result = run("--output", "markdown", "--summary", str(summary))

        assert summary.read_text() == f"earlier\n{result.stdout}"
        assert address_of_run() == "https://github.com/o/r/actions/runs/7"

    def test_a_difference_is_no_failure(self, run, clone):
        entry = json.loads(run("--output", "json").output)["stacks"][0]["deletions"][0]["entry"]
        write_stack(clone.folder, review={"acknowledge": [entry]})

        result = run("--output", "markdown")

        assert result.exit_code == 0
        assert result.output.startswith("## 1 object removed\n")

    @pytest.mark.parametrize("output", ["table", "markdown", "json"])
    def test_a_file_has_what_would_be_printed(self, run, output, tmp_path):
        printed = run("--output", output).output

        result = run("--output", output, "--file", str(tmp_path / "report"))

        assert result.output == ""
        assert (tmp_path / "report").read_text() == printed

    def test_a_file_that_cannot_be_written_is_an_error(self, run, tmp_path):
        result = run("--file", str(tmp_path))

        assert result.exit_code == 2
        assert "cannot be written" in result.output

    def test_an_error_exits_with_2(self, run):
        assert run("--base", "unknown").exit_code == 2


def test_a_project_below_the_top_of_its_repository_is_compared_with_the_workflows_at_the_top(tmp_path):
    top = tmp_path / "top"
    clone = Clone(top)
    inner = Clone(top / "platform")
    subprocess.run(["rm", "-rf", str(inner.folder / ".git")], check=True)
    inner.stack("staging", "dev-team")
    clone.write(".github/workflows/apply.yaml", "name: apply\n")
    (top / ".gitignore").unlink()
    clone.commit()
    clone.git("checkout", "-qb", "change")
    clone.write(".github/workflows/apply.yaml", "name: other\n")
    clone.commit()

    report = compare(inner.folder, "main")

    assert [each.text for each in report.risks] == [
        "who approves changes, or how they are applied, may differ: .github/workflows/apply.yaml"
    ]


@pytest.mark.parametrize("name", ["yaml.py", "json/__init__.py", "requests.pyc"])
def test_code_that_would_run_instead_of_the_program_ends_the_review(clone, name):
    clone.stack("staging", "dev-team")
    clone.commit()
    clone.write(name, "")

    with pytest.raises(ConfigurationError) as refused:
        compare(clone.folder, "main")

    assert [each.code for each in refused.value.problems] == ["FT-CFG-633"]


def test_only_what_is_newly_refused_is_told(monkeypatch, tmp_path):
    old, new = kubernetes("GitRepository", "old", "apps"), kubernetes("GitRepository", "new", "apps")
    before, after = render_of(old), render_of(old, new)
    refused = Answer(objections=(Objection("flux-tenancy-sources", True, "the source is not allowed"),))
    answers = {before.digest: {old.key: refused}, after.digest: {old.key: refused, new.key: refused}}
    monkeypatch.setattr(
        flux_tenancy.review.report.comparison,
        "admission_answers",
        lambda program, render, project, about: answers[render.digest],
    )

    [statement] = refusals_of(tmp_path, before, after, tmp_path)

    assert statement.risk and statement.names_owner
    assert statement.text.endswith("refuses GitRepository apps/new: the source is not allowed")
    answers[after.digest] = {}
    assert refusals_of(tmp_path, None, after, tmp_path) == ()
