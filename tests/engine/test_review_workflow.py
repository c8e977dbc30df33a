"""The jobs of a pull request, run step by step as GitHub would, with their comment at a Git host with GitHub's API."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from dev.lab.gitea import ADMINISTRATOR
from flux_tenancy.extensions.github_bot.report_comment import ARTIFACT, MARKER
from flux_tenancy.review.admission.program import built_program
from tests.support.fake_github import HEAD, REPOSITORY, TOKEN, FakeGitHub, archive, github
from tests.support.lab import Lab, eventually
from tests.support.offline_requests import PROGRAM, tool

CHECKOUT = Path(__file__).parents[2]
GITHUB, ACTIONS = CHECKOUT / ".github", "$/.github/actions/"
BRANCH, RUN = "wider-role", 41
INHERITED = re.compile(r"PATH|HOME|LANG|FLUX_TENANCY_CACHE|GO[A-Z]*")
"""Variables of the machine that a runner has as well; everything else in a job comes from its workflow."""
SECRET = "a-secret-of-the-repository"
EXPRESSION = re.compile(r"\$\{\{ *(.+?) *\}\}")
JOINED = "join(fromJSON(steps.stacks.outputs.all))"


class Clone:
    """The repository as a runner checks it out: the base, a branch with a change, and their merge.

    Attributes:
        folder: of the clone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        listed = _git(CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            if (source := CHECKOUT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(source.read_bytes())
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=Base")
        # Installed already: as old as a stamp of make has to be.
        (folder / ".venv").symlink_to(CHECKOUT / ".venv")
        for name in ("requirements.txt", "requirements-lab.txt", "requirements-dev.txt"):
            os.utime(folder / name, (0, 0))

    def git(self, *arguments: str) -> str:
        return _git(self.folder, *arguments)

    def change(self, file: str, before: str, after: str) -> str:
        """Change a file on the branch, and check out its merge with main; returns the branch's head."""
        exists = BRANCH in self.git("branch", "--format=%(refname:short)").split()
        self.git("checkout", "--quiet", *([BRANCH] if exists else ["-b", BRANCH, "main"]))
        text = (self.folder / file).read_text()
        assert before in text
        (self.folder / file).write_text(text.replace(before, after))
        self.git("commit", "--quiet", "--all", f"--message=Change {file}")
        head = self.git("rev-parse", "HEAD").strip()
        self.git("checkout", "--quiet", "--detach", "main")
        self.git("merge", "--quiet", "--no-ff", "--message=Merge", BRANCH)
        return head


def _git(folder: Path, *arguments: str) -> str:
    author = ["-c", "user.name=Reviewer", "-c", "user.email=reviewer@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *author, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def job(workflow: str, name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((GITHUB / "workflows" / f"{workflow}.yaml").read_text())
    found: dict[str, Any] = content["jobs"][name]
    return found


def environment(step: Mapping[str, Any], folder: Path, context: Mapping[str, str]) -> dict[str, str]:
    """The variables that a step has: a runner's, and those of the workflow, with its expressions evaluated.

    Args:
        step: the step.
        folder: of the clone.
        context: values by expression; secrets have one, too, and what is missing is empty, as it is for GitHub.
    """
    machine = {name: value for name, value in os.environ.items() if INHERITED.fullmatch(name)}
    # As the action `setup` leaves it, which installs the clone.
    machine["PATH"] = f"{CHECKOUT / '.venv' / 'bin'}{os.pathsep}{machine['PATH']}"
    machine["PYTHONPATH"] = str(folder)
    evaluated = {
        name: EXPRESSION.sub(lambda found: context.get(found[1], ""), str(value))
        for name, value in step.get("env", {}).items()
    }
    return machine | evaluated


def run(step: Mapping[str, Any], folder: Path, context: Mapping[str, str], **variables: str) -> str:
    """Run the command of a step as a runner does; returns what it prints."""
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder,
        env=environment(step, folder, context) | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{step['run']}:\n{done.stdout}"
    return done.stdout


def flat(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps of a job, those of this repository's actions included; `setup` is done already."""
    found = []
    for step in content["steps"]:
        name = step.get("uses", "").removeprefix(ACTIONS)
        if name != "setup" and (action := GITHUB / "actions" / name / "action.yaml").is_file():
            found += flat(yaml.safe_load(action.read_text())["runs"])
        else:
            found.append(step)
    return found


def commands(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those of the steps that run a command."""
    return [step for step in flat(content) if "run" in step]


def report(clone: Clone, tmp_path: Path, only: str = "") -> dict[str, bytes]:
    """Run the job `report` of review.yaml; returns what it leaves behind for the comment.

    Args:
        clone: the repository.
        tmp_path: folder for the outputs of steps.
        only: pattern of the commands to run, where the others would do the same as before; empty for all.
    """
    content = job("review", "report")
    # What the repository has, and a step could ask for.
    context = {"github.token": SECRET, "secrets.GITHUB_TOKEN": SECRET, "vars.PULUMI_BACKEND_URL": SECRET}
    written = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
    for step in commands(content):
        if not re.match(only, step["run"]):
            continue
        said = {name: _assignments(file) for name, file in written.items() if name != "GITHUB_STEP_SUMMARY"}
        # Without the outputs of an earlier step, as many stacks as the project has.
        stacks = json.loads(said["GITHUB_OUTPUT"].get("all", '["production", "staging"]'))
        files = {name: str(file) for name, file in written.items()}
        run(step, clone.folder, context | {JOINED: ",".join(stacks)}, **files, **said["GITHUB_ENV"])
    [upload] = [step for step in flat(content) if step.get("with", {}).get("name") == ARTIFACT]
    paths = [path for pattern in upload["with"]["path"].split() for path in clone.folder.glob(pattern)]
    return {str(path.relative_to(clone.folder / ".render")): path.read_bytes() for path in paths}


def _assignments(file: Path) -> dict[str, str]:
    """What steps have written to a file of the runner's, one assignment a line."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


@pytest.fixture(scope="module", autouse=True)
def admission_program() -> None:
    """What `build-admission` would build for minutes: the lab has built it, of the same sources."""
    program = built_program()
    assert program is not None
    if not program.is_file():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f"{PROGRAM}.{os.getpid()}")
        shutil.copy2(tool(PROGRAM), unfinished)
        unfinished.replace(program)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone(tmp_path_factory.mktemp("review") / "clone")


@pytest.fixture(scope="module")
def host(lab: Lab) -> Iterator[FakeGitHub]:
    """The lab's Git host; workflow runs, which it does not have, are a fake's."""
    gitea = lab.git.gitea
    owner, name = REPOSITORY.split("/")
    with gitea.client() as admin, github() as fake:
        admin.post("/orgs", json={"username": owner}).raise_for_status()
        admin.post(f"/orgs/{owner}/repos", json={"name": name}).raise_for_status()

        def answer(method: str, path: str, sent: Any) -> tuple[int, Any]:
            response = admin.request(method, path, json=sent)
            text = response.text.replace(f"{gitea.address}/api/v1", fake.url)
            return response.status_code, _as_github(json.loads(text), fake.url)

        fake.upstream = answer
        yield fake
        admin.delete(f"/repos/{REPOSITORY}").raise_for_status()
        admin.delete(f"/orgs/{owner}").raise_for_status()


def _as_github(content: Any, url: str) -> Any:
    """Gitea shows a pull request's page as its address."""
    if isinstance(content, list):
        return [_as_github(each, url) for each in content]
    if isinstance(content, dict) and "merge_base" in content:
        content["url"] = f"{url}/repos/{REPOSITORY}/pulls/{content['number']}"
    return content


def push(lab: Lab, clone: Clone, *branches: str) -> None:
    credentials = lab.git.gitea.credentials()
    url = httpx.URL(f"{lab.git.gitea.address}/{REPOSITORY}.git")
    url = url.copy_with(username=credentials.username, password=credentials.password)
    clone.git("push", "--quiet", "--force", str(url), *branches)


def post(clone: Clone, host: FakeGitHub, files: dict[str, bytes], run_id: int, head: str) -> str:
    """Run the workflow `comment` on the default branch, for a run that has left files behind."""
    host.run(run_id, head=head, owner=REPOSITORY.split("/")[0])
    host.runs[run_id]["head_branch"] = BRANCH
    host.artifacts[run_id, ARTIFACT] = archive(files)
    clone.git("checkout", "--quiet", "main")
    context = {"github.event.workflow_run.id": str(run_id), "github.token": TOKEN}
    [step] = commands(job("comment", "comment"))
    return run(step, clone.folder, context, GITHUB_API_URL=host.url, GITHUB_REPOSITORY=REPOSITORY)


@pytest.mark.scenario
class TestPullRequest:
    def test_its_report_becomes_a_comment(self, lab: Lab, clone: Clone, host: FakeGitHub, tmp_path: Path) -> None:
        head = clone.change("Pulumi.staging.yaml", "        path: ./staging\n", "        path: ./other\n")
        push(lab, clone, "main", BRANCH)
        with lab.git.gitea.client() as admin:
            new = {"title": "Another path", "head": BRANCH, "base": "main"}
            # The host learns of pushed branches a moment after the push.
            pulls = f"/repos/{REPOSITORY}/pulls"
            eventually(lambda: admin.post(pulls, json=new).is_success, what="pull request")

        files = report(clone, tmp_path)
        said = post(clone, host, files, RUN, head)

        assert sorted(files) == ["base", "comment.md", "production/digest.json", "staging/digest.json"]
        assert said.startswith("Created:")
        [body] = self.comments(lab)
        assert body.startswith(MARKER) and "dev-team" in body
        for stack in ("production", "staging"):
            assert f"- `{stack}`: `{json.loads(files[f'{stack}/digest.json'])['digest']}`" in body
        assert "> [!" not in body

    def test_the_next_commit_updates_the_same_comment(
        self, lab: Lab, clone: Clone, host: FakeGitHub, tmp_path: Path
    ) -> None:
        [before] = self.comments(lab)
        head = clone.change("Pulumi.staging.yaml", "        path: ./other\n", "        path: ./third\n")
        push(lab, clone, BRANCH)

        said = post(clone, host, report(clone, tmp_path, "flux-tenancy review (render|diff)"), RUN + 1, head)

        assert said.startswith("Updated:")
        [after] = self.comments(lab)
        assert "./third" in after and after != before

    def test_a_report_of_an_earlier_commit_changes_nothing(self, lab: Lab, clone: Clone, host: FakeGitHub) -> None:
        before = self.comments(lab)

        said = post(clone, host, {"comment.md": b"outdated"}, RUN + 2, HEAD)

        assert "moved on" in said
        assert self.comments(lab) == before

    def comments(self, lab: Lab) -> list[str]:
        with lab.git.gitea.client() as admin:
            [pull] = admin.get(f"/repos/{REPOSITORY}/pulls").raise_for_status().json()
            found = admin.get(f"/repos/{REPOSITORY}/issues/{pull['number']}/comments").raise_for_status().json()
        return [each["body"] for each in found if each["user"]["login"] == ADMINISTRATOR]


def test_a_pull_request_of_a_fork_that_looks_for_secrets_finds_none(lab: Lab, tmp_path: Path) -> None:
    """Its code is its own: here, it writes down every variable, and what Git would send to the host."""
    fork = Clone(tmp_path / "fork")
    theft = 'import os\n\nos.system("env > stolen; git config --list >> stolen")\n'
    fork.change(
        "dev/lab/__main__.py", "from __future__ import annotations\n", f"from __future__ import annotations\n{theft}"
    )
    (bundles,) = [step for step in commands(job("review", "report")) if step["run"].endswith(" -m dev.lab bundles")]
    context = {"github.token": SECRET, "secrets.PULUMI_CONFIG_PASSPHRASE": SECRET, "vars.PULUMI_BACKEND_URL": SECRET}

    for step in commands(job("review", "report")):
        assert SECRET not in environment(step, fork.folder, context).values()
    run(bundles, fork.folder, context, HOME=str(tmp_path))

    stolen = (fork.folder / "stolen").read_text()
    assert "PATH=" in stolen
    for secret in (SECRET, lab.git.token(), lab.git.gitea.credentials().password):
        assert secret not in stolen
    assert "extraheader" not in stolen
