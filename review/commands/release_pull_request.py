"""`make release-pull-request`: proposes the stack files that `make update-releases` has changed as one pull request.

It writes through the host's API and needs no credentials of Git. The pull request has a branch of its own, which is
made anew from the default branch each time, so it never conflicts and holds nothing but the update.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer
from github import GithubException, InputGitTreeElement
from github.Repository import Repository

from operations.errors import Operation
from review.commands.command import PROJECT
from review.host.connection import connected
from review.words.untrusted_markdown import neutralized

BRANCH = "flux-tenancy/releases"
TITLE = "Update the releases of the stacks"
_FILES = "Pulumi.*.yaml"
_NOT_FOUND = 404

app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def release_pull_request(
    file: Annotated[Path, typer.Option(help="the summary of the update, as Markdown")],
) -> None:
    """Open or update the pull request with the changed stack files; with no changes, nothing is written."""
    changed = changed_files(PROJECT)
    if not changed:
        typer.echo("No stack file has changed.")
        return
    summary = neutralized(file.read_text(encoding="utf-8"))
    with connected() as host:
        commit(host.repository, {path: (PROJECT / path).read_text(encoding="utf-8") for path in changed})
        typer.echo(propose(host.repository, summary))


def changed_files(project: Path) -> list[str]:
    """The stack files that differ from the commit that is checked out."""
    command = ["git", "diff", "--name-only", "--relative", "-z", "HEAD", "--", _FILES]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return [path for path in done.stdout.split("\0") if path]


def commit(repository: Repository, files: dict[str, str]) -> None:
    """Make the branch one commit on top of the default branch.

    Args:
        repository: the repository.
        files: the content of each changed file by its path.
    """
    base = repository.get_git_commit(repository.get_branch(repository.default_branch).commit.sha)
    elements = [InputGitTreeElement(path, "100644", "blob", content=text) for path, text in files.items()]
    made = repository.create_git_commit(TITLE, repository.create_git_tree(elements, base.tree), [base])
    try:
        repository.get_git_ref(f"heads/{BRANCH}").edit(made.sha, force=True)
    except GithubException as error:
        if error.status != _NOT_FOUND:
            raise
        repository.create_git_ref(f"refs/heads/{BRANCH}", made.sha)


def propose(repository: Repository, summary: str) -> str:
    """Open the pull request, or give the open one another description; returns what was done."""
    owner = repository.full_name.partition("/")[0]
    for pull in repository.get_pulls(state="open", head=f"{owner}:{BRANCH}"):
        pull.edit(body=summary)
        return f"Updated: {pull.html_url}"
    made = repository.create_pull(base=repository.default_branch, head=BRANCH, title=TITLE, body=summary)
    return f"Opened: {made.html_url}"


if __name__ == "__main__":
    app(prog_name="python -m review.commands.release_pull_request")
