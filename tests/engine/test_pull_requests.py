"""Five pull requests on branches of a repository: what reviewers read, and that only what they approve is applied."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.command.program import ExitCode
from flux_tenancy.components.keys.ssh_keys import generate, read_private_key
from flux_tenancy.review.approval.guard import VARIABLE
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.report.comparison import compare
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.model import StackReport
from flux_tenancy.review.report.terminal import as_text
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Outcome, Project
from tests.support.releases import FLUX_VERSION, OLDER_FLUX_VERSION
from tests.support.renders import differences

NAME = "reviews"
FILE = f"Pulumi.{NAME}.yaml"
KEYS = {name: generate().private for name in ("dev-team", "ops-team", "new-team", "rotated")}
_PIECE = 24
"""Characters of a secret that nobody meets by chance."""

Sections = dict[str, Any]


class Repository:
    """A clone with a stack of two tenants, and the project from which it is applied.

    Attributes:
        folder: of the clone; it has the files of the stack and of the project, and not the product.
        project: the project.
        outputs: everything that reviews have printed or written.
    """

    def __init__(self, lab: Lab, cluster: RunningCluster, project: Project, folder: Path) -> None:
        self.folder, self.project = folder, project
        self.outputs: dict[str, str] = {}
        self._sealed = {name: project.secret(NAME, key) for name, key in KEYS.items()}
        self._salt = yaml.safe_load((project.folder / FILE).read_text())["encryptionsalt"]
        (folder / "tenants").mkdir(parents=True)
        for name in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(project.folder / name, folder)
        for name in ("dev-team", "ops-team"):
            self.write_tenant(lab, name)
        self.base: Sections = {
            "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name},
            "flux": earlier_release(lab, folder.parent / "earlier.yaml"),
            "git": {"knownHostsFile": str(lab.git.known_hosts)},
            "policies": {"engine": "none"},
            "tenants": {name: self.tenant(name) for name in ("dev-team", "ops-team")},
        }
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(**self.base)

    def tenant(self, name: str, key: str = "") -> Sections:
        return {"source": {"deployKey": self._sealed[key or name]}}

    def write_tenant(self, lab: Lab, name: str) -> None:
        """Write the base file of a tenant."""
        content = {"namespaces": [{"name": name}], "source": {"url": lab.git.ssh_url(name, "apps")}}
        (self.folder / "tenants" / f"{name}.yaml").write_text(yaml.safe_dump(content))

    def commit(self, **sections: Any) -> None:
        """Commit the stack's file with these sections, and whatever else has changed."""
        config = {f"{self.project.name}:{name}": section for name, section in sections.items()}
        config["pulumi:disable-default-providers"] = ["*"]
        (self.folder / FILE).write_text(yaml.safe_dump({"config": config, "encryptionsalt": self._salt}))
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message=Change the stack")

    def git(self, *arguments: str) -> None:
        author = ["-c", "user.name=Dev", "-c", "user.email=dev@localhost", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *author, *arguments], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def review(self, branch: str) -> StackReport:
        """Compare a branch with main, and keep all forms of the report."""
        report = compare(self.folder, "main")
        shown = io.StringIO()
        Console(file=shown, width=200).print(as_text(report))
        forms = {"text": shown.getvalue(), "markdown": as_markdown(report), "json": as_json(report)}
        self.outputs |= {f"{branch}, {form}": text for form, text in forms.items()}
        [found] = report.stacks
        return found

    def check_out(self, branch: str) -> None:
        """Give the project the files of a branch, as a pipeline checks them out."""
        self.git("checkout", "--quiet", branch)
        shutil.copytree(self.folder / "tenants", self.project.folder / "tenants", dirs_exist_ok=True)
        shutil.copy(self.folder / FILE, self.project.folder)

    def up(self, approved: str, monkeypatch: pytest.MonkeyPatch) -> Outcome:
        """Apply what is checked out, held to a digest."""
        monkeypatch.setenv(VARIABLE, approved)
        outcome = self.project.up(NAME)
        self.outputs[f"update {len(self.outputs)}"] = outcome.text
        return outcome


def earlier_release(lab: Lab, file: Path) -> Sections:
    """A release like the lab's whose controllers log otherwise, pinned as the one before it."""
    bundle = lab.bundle()
    text = Path(bundle["manifests"]["bundle"]).read_text()
    assert "--log-level=info" in text
    file.write_text(text.replace("--log-level=info", "--log-level=error"))
    return {
        "version": OLDER_FLUX_VERSION,
        "sha256": sha256(file.read_bytes()).hexdigest(),
        "manifests": {"bundle": str(file)},
    }


@pytest.fixture(scope="module")
def repository(lab: Lab, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    with lab.cluster(NAME) as cluster:
        yield Repository(lab, cluster, project, tmp_path_factory.mktemp("reviews") / "clone")


def with_tenants(repository: Repository, **tenants: Sections) -> Sections:
    return repository.base | {"tenants": repository.base["tenants"] | tenants}


CHANGES: Mapping[str, tuple[Callable[[Repository, Lab], Sections], str]] = {
    "onboarding": (
        lambda repository, _: with_tenants(repository, **{"new-team": repository.tenant("new-team")}),
        "1 tenant onboarded",
    ),
    "wider-role": (
        lambda repository, _: with_tenants(
            repository, **{"dev-team": repository.tenant("dev-team") | {"role": "admin"}}
        ),
        "dev-team becomes admin in ",
    ),
    "flux-upgrade": (
        lambda repository, lab: repository.base | {"flux": lab.bundle()},
        f"Flux upgraded to {FLUX_VERSION}",
    ),
    "rotated-key": (
        lambda repository, _: with_tenants(repository, **{"dev-team": repository.tenant("dev-team", "rotated")}),
        "1 secret rotated",
    ),
    "offboarding": (
        lambda repository, _: repository.base | {"tenants": {"dev-team": repository.tenant("dev-team")}},
        "1 tenant missing (the update is refused)",
    ),
}


@pytest.mark.scenario
class TestPullRequests:
    approved: Mapping[str, str] = {}

    def test_the_first_update_is_held_to_a_digest_as_well(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.check_out("main")

        outcome = repository.up(render_stack(repository.folder, NAME).digest, monkeypatch)

        assert outcome.succeeded, outcome.text

    def test_each_branch_has_a_report_of_its_own(self, repository: Repository, lab: Lab) -> None:
        digests = {}
        for branch, (change, headline) in CHANGES.items():
            repository.git("checkout", "--quiet", "-b", branch, "main")
            if branch == "onboarding":
                repository.write_tenant(lab, "new-team")
            repository.commit(**change(repository, lab))

            digests[branch] = repository.review(branch).digest

            assert repository.outputs[f"{branch}, markdown"].startswith(f"## {headline}"), headline
        assert len({*digests.values()}) == len(CHANGES)
        TestPullRequests.approved = digests

    def test_what_was_approved_is_what_is_applied(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.check_out("wider-role")

        outcome = repository.up(self.approved["wider-role"], monkeypatch)

        assert outcome.succeeded, outcome.text
        assert f"would apply {self.approved['wider-role']}, as approved" in outcome.text
        assert differences(repository.project, NAME) == []

    def test_a_change_after_the_approval_is_neither_repaired_nor_applied(
        self, repository: Repository, lab: Lab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.git("checkout", "--quiet", "rotated-key")
        sections = CHANGES["rotated-key"][0](repository, lab)
        sections["tenants"]["dev-team"]["role"] = "admin"
        repository.commit(**sections)
        repository.check_out("rotated-key")
        # A state that is written again is encrypted anew.
        before = repository.project.exported(NAME)

        refused = repository.up(self.approved["rotated-key"], monkeypatch)
        monkeypatch.chdir(repository.project.folder)
        repaired = CliRunner().invoke(app, ["drift", "repair", "--stack", NAME])

        for text in (refused.text, repaired.output):
            assert "FT-REV-501" in text and self.approved["rotated-key"] in text
        assert (refused.succeeded, repaired.exit_code) == (False, 2)
        assert repository.project.exported(NAME) == before

    def test_no_output_has_a_secret(
        self, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(repository.folder)
        for command, *options in (
            ("render", "--out", str(tmp_path)),
            ("access",),
            ("policy",),
            ("policy", "--output=json"),
        ):
            done = CliRunner().invoke(app, ["review", command, "--stack", NAME, *options])
            assert done.exit_code in (ExitCode.OK, ExitCode.FOUND), done.output
            repository.outputs[f"{command} {options}"] = done.output
        repository.outputs |= {str(file): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}

        assert any(name.endswith("digest.json") for name in repository.outputs)
        assert any("<encrypted tenants.dev-team.source.deployKey" in text for text in repository.outputs.values())
        secret_pieces = {piece for secret in KEYS.values() for piece in pieces(secret)}
        assert [
            name for name, text in repository.outputs.items() if any(piece in text for piece in secret_pieces)
        ] == []


def pieces(secret: str) -> Iterator[str]:
    """Long parts of a secret key and of its base64 form, without those of the public key that it contains twice."""
    public = read_private_key(secret).public
    body = "".join(line for line in secret.splitlines() if not line.startswith("-----"))
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", body)
    for text in (body, b64encode(secret.encode()).decode()):
        parts = range(len(text) // 2, len(text) - _PIECE, _PIECE // 2)
        assert len(parts) > 3
        yield from (piece for at in parts if (piece := text[at : at + _PIECE]) not in public)
