"""Proposes the stack files that `flux-tenancy releases update` has changed as one pull request.

It writes through the host's API and needs no credentials of Git. The pull request has a branch of its own, which is
made anew from the default branch each time, so it never conflicts and holds nothing but the update.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from github import GithubException, InputGitTreeElement
from github.Repository import Repository

from flux_tenancy.extensions.github_bot.connection import connected
from flux_tenancy.extensions.github_bot.report_comment import read_body
from flux_tenancy.extensions.github_bot.untrusted_markdown import neutralized
from flux_tenancy.project.described_stack import described_project
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.versions import NOT_A_CLONE, run_git

BRANCH = "flux-tenancy/releases"
TITLE = "Update the releases of the stacks"
# Git takes it relative to the folder that it runs in; `*` does not stand for `/`.
_FILES = ":(glob)Pulumi.*.yaml"
_NOT_FOUND = 404
_FORBIDDEN = 403


def propose_changes(project: Path, summary: Path) -> str:
    """Open or update the pull request with the changed stack files; returns what was done.

    Args:
        summary: file with the description as Markdown.

    Raises:
        OperationError: the project is not a clone, or the host refuses.
        OSError: the file cannot be read.
    """
    changed = changed_files(project)
    if not changed:
        return "No stack file has changed."
    body = neutralized(read_body(summary))
    with connected() as host:
        commit(host.repository, changed)
        return propose(host.repository, body)


def changed_files(project: Path) -> dict[str, str]:
    """The content of the stack files that differ from the commit that is checked out, by path in the repository.

    A file that was deleted is left out.

    Raises:
        OperationError: there is no Git, the project is not a clone with a commit, or its own file cannot be read.
    """
    folder = described_project(project).stack_folder
    done = run_git(folder, "diff", "--name-only", "--diff-filter=d", "--no-relative", "-z", "HEAD", "--", _FILES)
    if done.returncode:
        raise OperationError(NOT_A_CLONE(project=project))
    paths = [PurePosixPath(path) for path in os.fsdecode(done.stdout).split("\0") if path]
    return {str(path): (folder / path.name).read_bytes().decode() for path in paths}


def commit(repository: Repository, files: dict[str, str]) -> None:
    """Make the branch one commit on top of the default branch.

    Args:
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
    try:
        made = repository.create_pull(base=repository.default_branch, head=BRANCH, title=TITLE, body=summary)
    except GithubException as error:
        # By default, a workflow's token may push a branch and open no pull request: the setting for it would also let
        # workflows approve pull requests.
        if error.status != _FORBIDDEN:
            raise
        return f"Pushed: branch {BRANCH}. Open its pull request yourself: workflows may not."
    return f"Opened: {made.html_url}"
